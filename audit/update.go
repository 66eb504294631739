package audit

import (
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/events"
)

// Write is one operation of a Write request.
type Write struct {
	Node       ua.NodeID
	Attribute  ua.AttributeID
	IndexRange string
	// Old and New are the values before the write and of the request, both of the range
	// only where there is one. Null where they are not known. They are copied.
	Old, New ua.Variant
}

// Entry makes an AuditWriteUpdateEventType (Part 5, 6.4.25). Of a value whose encoding
// is larger than 64 KiB it does not show anything.
func (w *Write) Entry(who Who, result ua.StatusCode) *Entry {
	e := who.entry(id.AuditWriteUpdateEventType, "Attribute/Write", result,
		events.FieldOf("AttributeId", ua.UInt32Variant(uint32(w.Attribute))),
		events.FieldOf("IndexRange", ua.StringVariant(cut(w.IndexRange))),
		events.FieldOf("OldValue", shown(w.Old)),
		events.FieldOf("NewValue", shown(w.New)),
	)
	e.Source = w.Node.Clone()
	return e
}

// Call is one call of a method.
type Call struct {
	Object, Method ua.NodeID
	// ObjectType is the type definition of the object, and Name the BrowseName of the
	// method: together they say what the standard makes of the call. Both may be null.
	ObjectType ua.NodeID
	Name       ua.QualifiedName
	// Secret keeps the arguments out of the entry. Those of methods of the standard
	// that take or return secrets are never shown.
	Secret          bool
	Inputs, Outputs []ua.Variant
}

// Entry makes an AuditUpdateMethodEventType, or the subtype of it that the standard
// has for this method (Part 5, 6.4.27). The arguments are null where their encoding is
// larger than 64 KiB.
func (c *Call) Entry(who Who, result ua.StatusCode) *Entry {
	e := who.entry(c.eventType(result), "Attribute/Call", result,
		events.FieldOf("MethodId", ua.VariantOf(c.Method.Clone())))
	e.Source = c.Object.Clone()
	if c.Secret || c.Name.NamespaceIndex == 0 && secretMethods[c.Name.Name] {
		e.Fields = append(e.Fields, events.FieldOf("InputArguments", ua.Variant{}), events.FieldOf("OutputArguments", ua.Variant{}))
		return e
	}
	e.Fields = append(e.Fields, events.FieldOf("InputArguments", shownAll(c.Inputs)), events.FieldOf("OutputArguments", shownAll(c.Outputs)))
	return e
}

func shownAll(arguments []ua.Variant) ua.Variant {
	if len(arguments) == 0 {
		return ua.Variant{}
	}
	return shown(ua.SliceVariant(arguments))
}

// secretMethods are the methods of the standard that take or return passwords, keys,
// or what keys are made from (Part 12, 7.8 to 7.10 and 8; Part 14, 8; Part 18, 5.2).
var secretMethods = map[string]bool{
	"AddUser": true, "ModifyUser": true, "ChangePassword": true,
	"UpdateCertificate": true, "CreateSigningRequest": true, "FinishRequest": true,
	"UpdateCredential": true, "RequestAccessToken": true,
	"GetSecurityKeys": true, "SetSecurityKeys": true,
}

// eventType returns what the standard has for a method of an object of this type.
func (c *Call) eventType(result ua.StatusCode) uint32 {
	if c.ObjectType.Namespace() != 0 || c.Name.NamespaceIndex != 0 {
		return id.AuditUpdateMethodEventType
	}
	switch c.ObjectType {
	case roleType:
		switch c.Name.Name {
		case "AddIdentity", "RemoveIdentity", "AddApplication", "RemoveApplication", "AddEndpoint", "RemoveEndpoint":
			// It is raised when a rule was changed (Part 18, 4.5).
			if !result.IsBad() {
				return id.RoleMappingRuleChangedAuditEventType
			}
		}
	case trustListType:
		switch c.Name.Name {
		case "CloseAndUpdate", "AddCertificate", "RemoveCertificate":
			return id.TrustListUpdateRequestedAuditEventType // Part 12, 7.8.2.12
		}
	case configurationType:
		if c.Name.Name == "UpdateCertificate" {
			return id.CertificateUpdateRequestedAuditEventType // Part 12, 7.10.26
		}
	}
	return id.AuditUpdateMethodEventType
}

var (
	roleType          = ua.NumericID(0, id.RoleType)
	trustListType     = ua.NumericID(0, id.TrustListType)
	configurationType = ua.NumericID(0, id.ServerConfigurationType)
)

// TrustListUpdated makes a TrustListUpdatedAuditEventType: a trust list was changed by
// the call of a method of an object (Part 12, 7.8.2.13).
func TrustListUpdated(who Who, object, method, trustList ua.NodeID) *Entry {
	e := changed(who, id.TrustListUpdatedAuditEventType, object, method)
	e.Fields = append(e.Fields, events.FieldOf("TrustListId", ua.VariantOf(trustList)))
	return e
}

// CertificateUpdated makes a CertificateUpdatedAuditEventType: a certificate of the
// server was changed by the call of a method of an object (Part 12, 7.10.27).
func CertificateUpdated(who Who, object, method, group, certificateType ua.NodeID) *Entry {
	e := changed(who, id.CertificateUpdatedAuditEventType, object, method)
	e.Fields = append(e.Fields,
		events.FieldOf("CertificateGroup", ua.VariantOf(group)), events.FieldOf("CertificateType", ua.VariantOf(certificateType)))
	return e
}

func changed(who Who, typ uint32, object, method ua.NodeID) *Entry {
	e := who.entry(typ, "Attribute/Call", ua.Good,
		events.FieldOf("MethodId", ua.VariantOf(method.Clone())),
		events.FieldOf("InputArguments", ua.Variant{}), events.FieldOf("OutputArguments", ua.Variant{}))
	e.Source = object.Clone()
	return e
}

package audit

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/events"
)

const secret = "correct horse battery staple"

var someone = Who{
	Time: time.Date(2024, 2, 3, 4, 5, 6, 0, time.UTC), EntryID: "line 7 of my own log", User: "alice",
	Application: "urn:client", Peer: "192.0.2.1:4711", Host: "192.0.2.1",
}

// samples are entries of every type, as the server makes them.
func samples() map[string]*Entry {
	session, channel := ua.NumericID(1, 5), uint32(77)
	object, method := ua.NumericID(2, 1), ua.NumericID(2, 2)
	certificate := []byte{0x30, 1, 2, 3}
	opening := OpenSecureChannel{
		Channel: channel, Certificate: certificate, Thumbprint: "AB12", RequestType: ua.SecurityTokenRequestTypeRenew, PolicyURI: "urn:policy",
		Mode: ua.MessageSecurityModeSign, RequestedLifetime: time.Hour, CertificateError: []byte{1, 2},
	}
	create := CreateSession{Session: session, Channel: channel, Certificate: certificate, Thumbprint: "AB12", Timeout: time.Minute}
	elsewhere := create
	elsewhere.EndpointURL = "opc.tcp://elsewhere:4840"
	activate := ActivateSession{
		Session: session, Channel: channel, Roles: []ua.NodeID{ua.NumericID(0, id.WellKnownRole_Operator)},
		Token: &ua.UserNameIdentityToken{PolicyID: "user", UserName: "alice", Password: []byte(secret), EncryptionAlgorithm: "rsa"},
	}
	refused := Certificate{DER: certificate, InvalidHost: "elsewhere", InvalidURI: "urn:other"}
	write := Write{Node: object, Attribute: ua.AttributeIDValue, IndexRange: "1:2", Old: ua.Int32Variant(1), New: ua.Int32Variant(2)}
	role := Call{Object: object, Method: method, ObjectType: roleType, Name: ua.QualifiedName{Name: "AddIdentity"}, Inputs: []ua.Variant{ua.Int32Variant(3)}}
	list := Call{Object: object, Method: method, ObjectType: trustListType, Name: ua.QualifiedName{Name: "AddCertificate"}}
	own := Call{Object: object, Method: method, ObjectType: configurationType, Name: ua.QualifiedName{Name: "UpdateCertificate"}}
	call := Call{Object: object, Method: method, Inputs: []ua.Variant{ua.Int32Variant(3)}, Outputs: []ua.Variant{ua.StringVariant("done")}}
	return map[string]*Entry{
		"AuditOpenSecureChannelEventType":          opening.Entry(someone, ua.BadSecurityChecksFailed),
		"AuditChannelEventType":                    CloseSecureChannel(someone, channel),
		"AuditCreateSessionEventType":              create.Entry(someone, ua.Good),
		"AuditUrlMismatchEventType":                elsewhere.Entry(someone, ua.Good),
		"AuditActivateSessionEventType":            activate.Entry(someone, ua.Good),
		"AuditSessionEventType":                    SessionEnded(someone, SourceSessionTimeout, session, ua.Good),
		"AuditCancelEventType":                     Cancel(someone, session, 9, ua.Good),
		"AuditCertificateDataMismatchEventType":    refused.Entry(someone, ua.BadCertificateURIInvalid),
		"AuditCertificateExpiredEventType":         refused.Entry(someone, ua.BadCertificateTimeInvalid),
		"AuditCertificateInvalidEventType":         refused.Entry(someone, ua.BadCertificateInvalid),
		"AuditCertificateUntrustedEventType":       refused.Entry(someone, ua.BadCertificateUntrusted),
		"AuditCertificateRevokedEventType":         refused.Entry(someone, ua.BadCertificateRevoked),
		"AuditCertificateMismatchEventType":        refused.Entry(someone, ua.BadCertificateUseNotAllowed),
		"AuditWriteUpdateEventType":                write.Entry(someone, ua.Good),
		"AuditUpdateMethodEventType":               call.Entry(someone, ua.BadUserAccessDenied),
		"RoleMappingRuleChangedAuditEventType":     role.Entry(someone, ua.Good),
		"TrustListUpdateRequestedAuditEventType":   list.Entry(someone, ua.Good),
		"TrustListUpdatedAuditEventType":           TrustListUpdated(someone, object, method, ua.NumericID(0, 1)),
		"CertificateUpdateRequestedAuditEventType": own.Entry(someone, ua.Good),
		"CertificateUpdatedAuditEventType":         CertificateUpdated(someone, object, method, ua.NumericID(0, 1), ua.NumericID(0, 2)),
	}
}

// Each entry has every mandatory property of its type, in the DataType of the property,
// and none that the type does not have: the standard's own nodes say so (Part 5, 6.4).
func TestEntriesHaveTheFieldsOfTheirTypes(t *testing.T) {
	space := addrspace.New(addrspace.Options{ApplicationURI: "urn:server"})
	if err := space.LoadNS0(); err != nil {
		t.Fatal(err)
	}
	for name, entry := range samples() {
		t.Run(name, func(t *testing.T) {
			typ := space.Node(ua.NumericID(0, entry.Type))
			if typ == nil || typ.BrowseName().Name != name || entry.TypeName() != name {
				t.Fatalf("type %d, called %q, is not this one", entry.Type, entry.TypeName())
			}
			entry.ServerID = "urn:server"
			event := entry.event(time.Now())
			properties := propertiesOf(space, typ)
			for property, p := range properties {
				v := event.Value([]ua.QualifiedName{{Name: property}})
				if p.mandatory && !has(event, property) {
					t.Errorf("no %s", property)
				}
				if dataType := space.Node(p.dataType); !v.IsNull() && !fits(dataType, v) {
					t.Errorf("%s is %v, a %v, and should be a %v", property, v, v.Type(), dataType.BrowseName().Name)
				}
			}
			for _, field := range event.Fields {
				if _, ok := properties[field.Path[0].Name]; !ok {
					t.Errorf("the type has no %s", field.Path[0].Name)
				}
			}
		})
	}
	if len(samples()) != len(typeNames) {
		t.Errorf("%d types have a sample, of %d", len(samples()), len(typeNames))
	}
}

// has reports whether an event knows a property, be it null.
func has(e *events.Event, name string) bool {
	switch name {
	case "EventId", "EventType", "SourceNode", "SourceName", "Time", "ReceiveTime", "Message", "Severity":
		return true
	}
	for _, f := range e.Fields {
		if f.Path[0].Name == name {
			return true
		}
	}
	return false
}

type property struct {
	dataType  ua.NodeID
	mandatory bool
}

func propertiesOf(space *addrspace.Space, typ *addrspace.Node) map[string]property {
	found := map[string]property{}
	hasProperty, _ := space.ReferenceTypes(ua.NumericID(0, id.HasProperty), true)
	hasRule, _ := space.ReferenceTypes(ua.NumericID(0, id.HasModellingRule), true)
	for ; typ != nil; typ = typ.Supertype() {
		refs := typ.References()
		for pos := 0; ; {
			ref, next, ok := refs.Next(pos, ua.BrowseDirectionForward, hasProperty)
			if !ok {
				break
			}
			pos = next
			rules := ref.Target.References()
			rule, _, ok := rules.Next(0, ua.BrowseDirectionForward, hasRule)
			found[ref.Target.BrowseName().Name] = property{
				ref.Target.Variable().DataType(), ok && rule.Target.ID() == ua.NumericID(0, id.ModellingRule_Mandatory),
			}
		}
	}
	return found
}

// fits reports whether a value is of a DataType, as far as its built-in type says.
func fits(dataType *addrspace.Node, v ua.Variant) bool {
	for n := dataType; n != nil; n = n.Supertype() {
		switch number := n.ID().Numeric(); number {
		case id.BaseDataType:
			return n == dataType
		case id.Enumeration:
			return v.Type() == ua.TypeInt32
		case id.Structure:
			return v.Type() == ua.TypeExtensionObject
		default:
			if number == uint32(v.Type()) {
				return true
			}
		}
	}
	return false
}

// The properties that all have (Part 5, 6.4.3), and the name of the user that the
// standard prescribes where there is none yet (6.4.5, 6.4.6, 6.4.8).
func TestEventSaysWhoDidWhatAndWhen(t *testing.T) {
	e := samples()["AuditUpdateMethodEventType"]
	e.ServerID = "urn:server"
	event := e.event(time.Now())
	for name, want := range map[string]ua.Variant{
		"ActionTimeStamp": ua.DateTimeVariant(ua.DateTimeOf(someone.Time)), "Status": ua.BooleanVariant(false),
		"ServerId": ua.StringVariant("urn:server"), "ClientAuditEntryId": ua.StringVariant("line 7 of my own log"),
		"ClientUserId": ua.StringVariant("alice"), "ClientApplicationUri": ua.StringVariant("urn:client"),
		"StatusCodeId": ua.VariantOf(ua.BadUserAccessDenied), "SourceName": ua.StringVariant("Attribute/Call"),
		"SourceNode": ua.VariantOf(ua.NumericID(2, 1)), "MethodId": ua.VariantOf(ua.NumericID(2, 2)),
		"Message": ua.VariantOf(ua.LocalizedText{Text: "Attribute/Call: BadUserAccessDenied"}), "Severity": ua.VariantOf(uint16(severityFailed)),
	} {
		if got := event.Value([]ua.QualifiedName{{Name: name}}); !got.Equal(want) {
			t.Errorf("%s is %v, not %v", name, got, want)
		}
	}
	for name, user := range map[string]string{
		"AuditOpenSecureChannelEventType": "System/OpenSecureChannel", "AuditChannelEventType": "System/CloseSecureChannel",
		"AuditCreateSessionEventType": "System/CreateSession", "AuditSessionEventType": "alice",
	} {
		e := samples()[name]
		if e.ClientUserID != user {
			t.Errorf("%s: user %q, not %q", name, e.ClientUserID, user)
		}
		if source := e.event(time.Now()).SourceNode; source != serverObject {
			t.Errorf("%s: source %v is not the Server object", name, source)
		}
	}
}

// Neither a password, nor an issued token, nor the arguments of a method that takes one
// gets into an entry (Part 5, 6.4.10).
func TestEntriesHaveNoSecrets(t *testing.T) {
	entries := samples()
	for name, token := range map[string]ua.Structure{
		"a password": &ua.UserNameIdentityToken{UserName: "alice", Password: []byte(secret)},
		"a token":    &ua.IssuedIdentityToken{PolicyID: "jwt", TokenData: []byte(secret)},
	} {
		entries[name] = (&ActivateSession{Token: token}).Entry(someone, ua.BadIdentityTokenRejected)
	}
	inputs := []ua.Variant{ua.StringVariant(secret)}
	for method := range secretMethods {
		entries[method] = (&Call{Name: ua.QualifiedName{Name: method}, Inputs: inputs, Outputs: inputs}).Entry(someone, ua.Good)
	}
	entries["declared"] = (&Call{Name: ua.QualifiedName{NamespaceIndex: 2, Name: "Unlock"}, Secret: true, Inputs: inputs}).Entry(someone, ua.Good)
	for name, e := range entries {
		event := e.event(time.Now())
		for _, f := range event.Fields {
			if bytes.Contains(f.Value.AppendTo(nil), []byte(secret)) {
				t.Errorf("%s: the secret stands in %s", name, f.Path[0].Name)
			}
		}
	}
	open := (&Call{Name: ua.QualifiedName{NamespaceIndex: 2, Name: "AddUser"}, Inputs: inputs}).Entry(someone, ua.Good)
	if open.Value("InputArguments").IsNull() {
		t.Error("a method of another namespace is taken for one of the standard")
	}
}

// What a client chooses freely does not make an entry large, and an entry does not
// refer to the memory of the request.
func TestEntriesAreBoundedAndCopies(t *testing.T) {
	who := someone
	who.EntryID = strings.Repeat("é", 1<<20)
	e := CloseSecureChannel(who, 1)
	if n := len(e.ClientEntryID); n > maxText || n < maxText-4 || !strings.HasPrefix(who.EntryID, e.ClientEntryID) {
		t.Errorf("%d bytes of the client's entry", n)
	}
	if v := e.event(time.Now()).Size(); v > 16<<10 {
		t.Errorf("the event has %d bytes", v)
	}
	long := ua.SliceVariant(make([]float64, maxValue/8+1))
	w := Write{Old: long, New: ua.StringVariant(strings.Repeat("x", maxValue+1))}
	if e := w.Entry(someone, ua.Good); !e.Value("OldValue").IsNull() || !e.Value("NewValue").IsNull() {
		t.Error("a large value is shown")
	}
	data := []byte("before")
	kept := (&Write{New: ua.VariantOf(data)}).Entry(someone, ua.Good)
	copy(data, "after!")
	if got, _ := ua.As[[]byte](kept.Value("NewValue")); string(got) != "before" {
		t.Errorf("the entry shows %q", got)
	}
	if e := (&Certificate{DER: make([]byte, maxCertificate+1)}).Entry(someone, ua.BadCertificateInvalid); !e.Value("Certificate").IsNull() {
		t.Error("something much too large is shown as a certificate")
	}
	if (&Certificate{}).Entry(someone, ua.BadUserAccessDenied) != nil {
		t.Error("an entry about a certificate for a status that is not about one")
	}
}

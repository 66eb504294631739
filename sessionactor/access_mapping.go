package sessionactor

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/uahive/uahive/codec/ua"
)

// RoleMapping says who has a role (Part 18, 4.4.1): whoever one of the Identities
// is about, from one of the Applications, on one of the Endpoints.
type RoleMapping struct {
	Role Role
	// Identities are rules of which one has to fit. Without one, only users that
	// Authenticate gives the role have it.
	Identities []ua.IdentityMappingRuleType
	// Applications are the ApplicationUris of client applications which have to
	// prove, with their certificate on a channel that signs, that they are one of
	// them; with ApplicationsExclude, that they are none of them. None: all.
	Applications        []string
	ApplicationsExclude bool
	// Endpoints are those that a client has to have come in through; with
	// EndpointsExclude, those that it must not have. Empty fields fit everything.
	// What a client says as its EndpointUrl is its own word. None: all.
	Endpoints        []ua.EndpointType
	EndpointsExclude bool
}

func (m *RoleMapping) clone() RoleMapping {
	c := *m
	c.Identities, c.Applications, c.Endpoints = slices.Clone(m.Identities), slices.Clone(m.Applications), slices.Clone(m.Endpoints)
	return c
}

// evidence is what the roles of a session follow from.
type evidence struct {
	kind    IdentityKind
	name    string
	given   []ua.NodeID // by the program
	subject []string    // of the user's certificate and its issuer, as rules write it
	print   string      // of the user's certificate, in hexadecimal digits
	groups  []string    // of an access token
	roles   []string    // of an access token

	application string
	signed      bool // the channel signs, and the application proved who it is
	endpoint    ua.EndpointType
}

// granted returns the roles that follow from evidence.
func granted(mappings []RoleMapping, e *evidence) []ua.NodeID {
	// The Anonymous role is always there (Part 18, 4.3).
	roles := []ua.NodeID{RoleAnonymous.nodeID}
	if e.kind != Anonymous {
		roles = append(roles, RoleAuthenticatedUser.nodeID)
	}
	if e.signed {
		roles = append(roles, RoleTrustedApplication.nodeID)
	}
	mapped := make([]ua.NodeID, 0, len(mappings))
	for i := range mappings {
		m := &mappings[i]
		mapped = append(mapped, m.Role.nodeID)
		if m.fits(e) {
			roles = append(roles, m.Role.nodeID)
		}
	}
	// What the program gives beyond the roles that have rules is between the
	// program and its permissions; who is somebody is not for it to say.
	for _, role := range e.given {
		fixed := slices.ContainsFunc(fixedRoles, func(f Role) bool { return f.nodeID == role })
		if !fixed && !slices.Contains(mapped, role) && !slices.Contains(roles, role) {
			roles = append(roles, role)
		}
	}
	return roles
}

// fits reports whether the role is granted (Part 18, 4.4.1). A role that the
// program gave to the user needs no rule, but the right application and endpoint.
func (m *RoleMapping) fits(e *evidence) bool {
	if !slices.Contains(e.given, m.Role.nodeID) &&
		!slices.ContainsFunc(m.Identities, func(r ua.IdentityMappingRuleType) bool { return identifies(&r, e) }) {
		return false
	}
	return m.fitsApplication(e) && m.fitsEndpoint(e)
}

func (m *RoleMapping) fitsApplication(e *evidence) bool {
	if len(m.Applications) == 0 && m.ApplicationsExclude {
		return true // the list is not used
	}
	// An application that proves nothing may be any of them.
	return e.signed && slices.Contains(m.Applications, e.application) != m.ApplicationsExclude
}

func (m *RoleMapping) fitsEndpoint(e *evidence) bool {
	return slices.ContainsFunc(m.Endpoints, func(want ua.EndpointType) bool { return matches(&want, &e.endpoint) }) != m.EndpointsExclude
}

// matches compares an endpoint with one that was written down.
func matches(want, got *ua.EndpointType) bool {
	return (want.EndpointURL == "" || sameURL(want.EndpointURL, got.EndpointURL)) &&
		(want.SecurityMode == ua.MessageSecurityModeInvalid || want.SecurityMode == got.SecurityMode) &&
		(want.SecurityPolicyURI == "" || want.SecurityPolicyURI == got.SecurityPolicyURI) &&
		(want.TransportProfileURI == "" || want.TransportProfileURI == got.TransportProfileURI)
}

// sameURL compares addresses without regard to the case of the host, to a slash
// at the end, or to whether the standard port is written.
func sameURL(a, b string) bool {
	return normalURL(a) == normalURL(b)
}

func normalURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	port := u.Port()
	if port == "" {
		port = "4840"
	}
	return strings.ToLower(u.Scheme+"://"+u.Hostname()+":"+port) + strings.TrimSuffix(u.Path, "/")
}

// identifies reports whether a rule is about somebody (Part 18, 4.4.3).
func identifies(r *ua.IdentityMappingRuleType, e *evidence) bool {
	switch r.CriteriaType {
	case ua.IdentityCriteriaTypeUserName:
		return e.kind == UserName && e.name == r.Criteria
	case ua.IdentityCriteriaTypeThumbprint:
		return e.print != "" && e.print == r.Criteria
	case ua.IdentityCriteriaTypeRole:
		return slices.Contains(e.roles, r.Criteria)
	case ua.IdentityCriteriaTypeGroupID:
		return slices.Contains(e.groups, r.Criteria)
	case ua.IdentityCriteriaTypeAnonymous:
		return e.kind == Anonymous
	case ua.IdentityCriteriaTypeAuthenticatedUser:
		return e.kind != Anonymous
	case ua.IdentityCriteriaTypeApplication:
		// It stands for an application without a user; with one, the role's
		// Applications are what restricts it.
		return e.kind == Anonymous && e.signed && e.application == r.Criteria
	case ua.IdentityCriteriaTypeX509Subject:
		return slices.Contains(e.subject, r.Criteria)
	case ua.IdentityCriteriaTypeTrustedApplication:
		return e.signed
	}
	return false
}

// The bounds of a role's rules, against an administrator's program that adds them
// in a loop.
const (
	maxRules    = 1000
	maxCriteria = 4096
)

// checkRule says what is wrong with a rule by itself.
func checkRule(r *ua.IdentityMappingRuleType) error {
	switch r.CriteriaType {
	case ua.IdentityCriteriaTypeAnonymous, ua.IdentityCriteriaTypeAuthenticatedUser, ua.IdentityCriteriaTypeTrustedApplication:
		if r.Criteria != "" {
			return fmt.Errorf("%v takes no criteria", r.CriteriaType)
		}
	case ua.IdentityCriteriaTypeUserName, ua.IdentityCriteriaTypeRole, ua.IdentityCriteriaTypeGroupID:
		if r.Criteria == "" {
			return fmt.Errorf("%v without a name", r.CriteriaType)
		}
	case ua.IdentityCriteriaTypeThumbprint:
		if raw, err := hex.DecodeString(r.Criteria); err != nil || len(raw) != 20 || r.Criteria != strings.ToUpper(r.Criteria) {
			return errors.New("a thumbprint is 40 hexadecimal digits in upper case")
		}
	case ua.IdentityCriteriaTypeApplication:
		if !isURI(r.Criteria) {
			return errors.New("an application is named by its ApplicationUri")
		}
	case ua.IdentityCriteriaTypeX509Subject:
		if !isSubject(r.Criteria) {
			return errors.New(`a subject is written CN="name"/O="organization"`)
		}
	default:
		return fmt.Errorf("no rule has the type %v", r.CriteriaType)
	}
	if len(r.Criteria) > maxCriteria {
		return fmt.Errorf("criteria of %d bytes", len(r.Criteria))
	}
	return nil
}

// admits reports whether a rule may give a role: those that are about everybody
// do not make administrators (Part 18, 4.4.1).
func admits(role ua.NodeID, r *ua.IdentityMappingRuleType) bool {
	switch r.CriteriaType {
	case ua.IdentityCriteriaTypeAnonymous, ua.IdentityCriteriaTypeAuthenticatedUser, ua.IdentityCriteriaTypeTrustedApplication:
		return !administers(role)
	}
	return true
}

func isURI(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme != "" && len(text) <= maxURI
}

// subjectNames are the parts of a name that count, in the order in which a rule
// has them (Part 18, 4.4.3).
var subjectNames = []string{"CN", "O", "OU", "DC", "L", "S", "C", "DNQ", "SERIALNUMBER"}

// subjectOf writes a name as rules do. A part with a quotation mark in it could be
// taken for several, so that such a name fits no rule.
func subjectOf(name pkix.Name) string {
	var b strings.Builder
	forged := false
	write := func(key string, values ...string) {
		for _, value := range values {
			if value == "" {
				continue
			}
			if b.Len() > 0 {
				b.WriteByte('/')
			}
			forged = forged || strings.Contains(value, `"`)
			b.WriteString(key + `="` + value + `"`)
		}
	}
	write("CN", name.CommonName)
	write("O", name.Organization...)
	write("OU", name.OrganizationalUnit...)
	write("DC", others(name, asn1.ObjectIdentifier{0, 9, 2342, 19200300, 100, 1, 25})...)
	write("L", name.Locality...)
	write("S", name.Province...)
	write("C", name.Country...)
	write("DNQ", others(name, asn1.ObjectIdentifier{2, 5, 4, 46})...)
	write("SERIALNUMBER", name.SerialNumber)
	if forged {
		return ""
	}
	return b.String()
}

// others returns the parts of a name that crypto/x509 has no field for.
func others(name pkix.Name, oid asn1.ObjectIdentifier) (values []string) {
	for _, part := range name.Names {
		if text, ok := part.Value.(string); ok && part.Type.Equal(oid) {
			values = append(values, text)
		}
	}
	return values
}

// isSubject reports whether a text is written as rules write subjects.
func isSubject(text string) bool {
	if text == "" {
		return false
	}
	last := -1
	for text != "" {
		name, rest, ok := strings.Cut(text, `="`)
		place := slices.Index(subjectNames, name)
		if !ok || place < last || place < 0 {
			return false
		}
		value, rest, ok := strings.Cut(rest, `"`)
		if !ok || value == "" || rest != "" && !strings.HasPrefix(rest, "/") || rest == "/" {
			return false
		}
		last, text = place, strings.TrimPrefix(rest, "/")
	}
	return true
}

// Check says what is wrong with a mapping: the field, and why. anybody can have
// the role of such a mapping or nobody, and an administrator would not see it.
func (m *RoleMapping) Check() (field string, err error) {
	if m.Role.nodeID.IsNull() {
		return "Role", errors.New("no role")
	}
	if slices.ContainsFunc(fixedRoles, func(f Role) bool { return f.nodeID == m.Role.nodeID }) {
		return "Role", fmt.Errorf("the standard says who is %v, and nobody else can be", m.Role)
	}
	for i := range m.Identities {
		field := fmt.Sprintf("Identities[%d]", i)
		if err := checkRule(&m.Identities[i]); err != nil {
			return field, err
		}
		if !admits(m.Role.nodeID, &m.Identities[i]) {
			return field, fmt.Errorf("%v cannot be everybody", m.Role)
		}
	}
	for i, uri := range m.Applications {
		if !isURI(uri) {
			return fmt.Sprintf("Applications[%d]", i), fmt.Errorf("%q is no ApplicationUri", uri)
		}
	}
	for i := range m.Endpoints {
		if m.Endpoints[i] == (ua.EndpointType{}) {
			return fmt.Sprintf("Endpoints[%d]", i), errors.New("an endpoint of which nothing is said")
		}
	}
	return "", nil
}

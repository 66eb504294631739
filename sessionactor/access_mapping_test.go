package sessionactor

import (
	"crypto/x509/pkix"
	"slices"
	"strings"
	"testing"

	"github.com/uahive/uahive/codec/ua"
)

// Each kind of rule is about those whom Part 18, 4.4.3 says, and about nobody else.
func TestRulesAreAboutThoseWhomTheyName(t *testing.T) {
	print := strings.Repeat("AB", 20)
	people := map[string]evidence{
		"nobody":    {kind: Anonymous},
		"station":   {kind: Anonymous, signed: true, application: "urn:station"},
		"joe":       {kind: UserName, name: "joe"},
		"cert joe":  {kind: UserCertificate, name: "joe", print: print, subject: []string{`CN="joe"/O="ACME"`, `CN="ACME CA"`}},
		"token joe": {kind: IssuedToken, name: "joe", groups: []string{"shift 1"}, roles: []string{"operator"}, signed: true, application: "urn:station"},
	}
	for _, tt := range []struct {
		rule ua.IdentityMappingRuleType
		fits []string
	}{
		{ua.IdentityMappingRuleType{CriteriaType: ua.IdentityCriteriaTypeUserName, Criteria: "joe"}, []string{"joe"}},
		{ua.IdentityMappingRuleType{CriteriaType: ua.IdentityCriteriaTypeThumbprint, Criteria: print}, []string{"cert joe"}},
		{ua.IdentityMappingRuleType{CriteriaType: ua.IdentityCriteriaTypeRole, Criteria: "operator"}, []string{"token joe"}},
		{ua.IdentityMappingRuleType{CriteriaType: ua.IdentityCriteriaTypeGroupID, Criteria: "shift 1"}, []string{"token joe"}},
		{ua.IdentityMappingRuleType{CriteriaType: ua.IdentityCriteriaTypeAnonymous}, []string{"nobody", "station"}},
		{ua.IdentityMappingRuleType{CriteriaType: ua.IdentityCriteriaTypeAuthenticatedUser}, []string{"cert joe", "joe", "token joe"}},
		{ua.IdentityMappingRuleType{CriteriaType: ua.IdentityCriteriaTypeApplication, Criteria: "urn:station"}, []string{"station"}},
		{ua.IdentityMappingRuleType{CriteriaType: ua.IdentityCriteriaTypeX509Subject, Criteria: `CN="joe"/O="ACME"`}, []string{"cert joe"}},
		{ua.IdentityMappingRuleType{CriteriaType: ua.IdentityCriteriaTypeX509Subject, Criteria: `CN="ACME CA"`}, []string{"cert joe"}},
		{ua.IdentityMappingRuleType{CriteriaType: ua.IdentityCriteriaTypeTrustedApplication}, []string{"station", "token joe"}},
	} {
		if err := checkRule(&tt.rule); err != nil {
			t.Errorf("%+v is refused: %v", tt.rule, err)
		}
		var fits []string
		for name, e := range people {
			if identifies(&tt.rule, &e) {
				fits = append(fits, name)
			}
		}
		if slices.Sort(fits); !slices.Equal(fits, tt.fits) {
			t.Errorf("%+v is about %q, want %q", tt.rule, fits, tt.fits)
		}
	}
}

func TestRulesThatCannotFitAreRefused(t *testing.T) {
	for _, rule := range []ua.IdentityMappingRuleType{
		{},
		{CriteriaType: 10, Criteria: "x"},
		{CriteriaType: ua.IdentityCriteriaTypeUserName},
		{CriteriaType: ua.IdentityCriteriaTypeAnonymous, Criteria: "x"},
		{CriteriaType: ua.IdentityCriteriaTypeThumbprint, Criteria: strings.Repeat("ab", 20)},
		{CriteriaType: ua.IdentityCriteriaTypeThumbprint, Criteria: "AB"},
		{CriteriaType: ua.IdentityCriteriaTypeApplication, Criteria: "no uri"},
		{CriteriaType: ua.IdentityCriteriaTypeX509Subject, Criteria: "CN=joe"},
		{CriteriaType: ua.IdentityCriteriaTypeX509Subject, Criteria: `O="ACME"/CN="joe"`},
		{CriteriaType: ua.IdentityCriteriaTypeX509Subject, Criteria: `CN="joe"/`},
		{CriteriaType: ua.IdentityCriteriaTypeX509Subject, Criteria: `CN="joe"O="ACME"`},
		{CriteriaType: ua.IdentityCriteriaTypeUserName, Criteria: strings.Repeat("x", maxCriteria+1)},
	} {
		if checkRule(&rule) == nil {
			t.Errorf("%v %.60q is taken", rule.CriteriaType, rule.Criteria)
		}
	}
}

// A name is written with its parts in the order of the standard; one that would
// read as several is nobody's.
func TestSubjectsAreWrittenAsRulesAre(t *testing.T) {
	name := pkix.Name{CommonName: "joe", Country: []string{"DE"}, Organization: []string{"ACME"}, OrganizationalUnit: []string{"A", "B"}}
	if got, want := subjectOf(name), `CN="joe"/O="ACME"/OU="A"/OU="B"/C="DE"`; got != want || !isSubject(got) {
		t.Errorf("%s, want %s", got, want)
	}
	if got := subjectOf(pkix.Name{CommonName: `joe"/O="ACME`}); got != "" {
		t.Errorf("a name with a quotation mark is %s", got)
	}
}

// Who a session is, which application it is of and where it came in all have to
// fit (Part 18, 4.4.1).
func TestRolesAreGrantedWhereEverythingFits(t *testing.T) {
	joe := ua.IdentityMappingRuleType{CriteriaType: ua.IdentityCriteriaTypeUserName, Criteria: "joe"}
	open := RoleMapping{Role: RoleOperator, Identities: []ua.IdentityMappingRuleType{joe}, ApplicationsExclude: true, EndpointsExclude: true}
	with := func(change func(*RoleMapping)) RoleMapping {
		m := open.clone()
		change(&m)
		return m
	}
	at := func(url string, mode ua.MessageSecurityMode) ua.EndpointType {
		return ua.EndpointType{EndpointURL: url, SecurityMode: mode, SecurityPolicyURI: "urn:policy", TransportProfileURI: transportProfile}
	}
	secure := evidence{kind: UserName, name: "joe", signed: true, application: "urn:a", endpoint: at("opc.tcp://Plant:4840/", ua.MessageSecurityModeSign)}
	plain := evidence{kind: UserName, name: "joe", application: "urn:a", endpoint: at("opc.tcp://plant:4841", ua.MessageSecurityModeNone)}
	given := evidence{kind: UserName, name: "ann", given: []ua.NodeID{RoleOperator.nodeID}, signed: true, application: "urn:b", endpoint: secure.endpoint}
	for _, tt := range []struct {
		name                 string
		mapping              RoleMapping
		secure, plain, given bool
	}{
		{"a rule alone", open, true, true, true},
		{"no rule", with(func(m *RoleMapping) { m.Identities = nil }), false, false, true},
		{"an application", with(func(m *RoleMapping) { m.Applications, m.ApplicationsExclude = []string{"urn:a"}, false }), true, false, false},
		{"all applications but one", with(func(m *RoleMapping) { m.Applications = []string{"urn:b"} }), true, false, false},
		{"no application", with(func(m *RoleMapping) { m.ApplicationsExclude = false }), false, false, false},
		{"an address", with(func(m *RoleMapping) {
			m.Endpoints, m.EndpointsExclude = []ua.EndpointType{{EndpointURL: "opc.tcp://plant"}}, false
		}), true, false, true},
		{"a mode", with(func(m *RoleMapping) {
			m.Endpoints, m.EndpointsExclude = []ua.EndpointType{{SecurityMode: ua.MessageSecurityModeNone}}, false
		}), false, true, false},
		{"all modes but one", with(func(m *RoleMapping) {
			m.Endpoints = []ua.EndpointType{{SecurityMode: ua.MessageSecurityModeNone}}
		}), true, false, true},
	} {
		for name, c := range map[string]struct {
			e    *evidence
			want bool
		}{"secure": {&secure, tt.secure}, "plain": {&plain, tt.plain}, "given": {&given, tt.given}} {
			roles := granted([]RoleMapping{tt.mapping}, c.e)
			if got := slices.Contains(roles, RoleOperator.nodeID); got != c.want {
				t.Errorf("%s, %s: granted %v", tt.name, name, got)
			}
			if !slices.Contains(roles, RoleAnonymous.nodeID) || !slices.Contains(roles, RoleAuthenticatedUser.nodeID) ||
				slices.Contains(roles, RoleTrustedApplication.nodeID) != c.e.signed {
				t.Errorf("%s, %s: %v", tt.name, name, roles)
			}
		}
	}
	// The program cannot make a user out of nobody, nor trust what it does not know.
	forged := evidence{given: []ua.NodeID{RoleAuthenticatedUser.nodeID, RoleTrustedApplication.nodeID}}
	if roles := granted(nil, &forged); len(roles) != 1 {
		t.Errorf("roles of an anonymous session: %v", roles)
	}
}

// What is about everybody makes no administrator, and the fixed roles have no
// rules.
func TestMappingsThatWouldBeMistakesAreRefused(t *testing.T) {
	for _, m := range []RoleMapping{
		{},
		{Role: RoleAnonymous},
		{Role: RoleSecurityAdmin, Identities: []ua.IdentityMappingRuleType{{CriteriaType: ua.IdentityCriteriaTypeAnonymous}}},
		{Role: RoleConfigureAdmin, Identities: []ua.IdentityMappingRuleType{{CriteriaType: ua.IdentityCriteriaTypeAuthenticatedUser}}},
		{Role: RoleOperator, Identities: []ua.IdentityMappingRuleType{{}}},
		{Role: RoleOperator, Applications: []string{"x y"}},
		{Role: RoleOperator, Endpoints: []ua.EndpointType{{}}},
	} {
		if field, err := m.Check(); err == nil || field == "" {
			t.Errorf("%+v is taken", m)
		}
	}
}

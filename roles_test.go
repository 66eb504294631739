package uahive_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// roleCall is a call of one method of a role's object.
func roleCall(role uint32, method uint32, input ua.Variant) *ua.CallRequest {
	return &ua.CallRequest{MethodsToCall: []ua.CallMethodRequest{{
		ObjectID: ua.NumericID(0, role), MethodID: ua.NumericID(0, method), InputArguments: []ua.Variant{input},
	}}}
}

func ruleVariant(rule uahive.IdentityRule) ua.Variant { return ua.VariantOf(ua.ObjectOf(&rule)) }

func callRole(t *testing.T, c *client.Client, req *ua.CallRequest) ua.StatusCode {
	t.Helper()
	return do[ua.CallResponse](t, c, req).Results[0].StatusCode
}

// Administrators change who has which role, for sessions that live as well (Part
// 18, 4.4); nobody else does, and not without encryption.
func TestAdministratorsChangeWhoHasARole(t *testing.T) {
	var saved atomic.Pointer[[]uahive.RoleMapping]
	var failing atomic.Bool
	w := newWorks(t, func(c *uahive.Config) {
		c.SaveRoles = func(roles []uahive.RoleMapping) error {
			if failing.Load() {
				return errors.New("disk full")
			}
			saved.Store(&roles)
			return nil
		}
	})
	clients := w.people()
	guest := w.connect("guest", encrypted)
	recipe := func(c *client.Client) ua.StatusCode {
		t.Helper()
		values, err := c.ReadValues(t.Context(), w.id("Press.Recipe"))
		if err != nil {
			t.Fatal(err)
		}
		return values[0].Status
	}
	// The session is told of its new roles beside the answer to the administrator.
	becomes := func(want ua.StatusCode) {
		t.Helper()
		for range 1000 {
			if recipe(guest) == want {
				return
			}
		}
		t.Errorf("the guest still gets %v", recipe(guest))
	}
	add := roleCall(id.WellKnownRole_Operator, id.WellKnownRole_Operator_AddIdentity, ruleVariant(uahive.ByUserName("guest")))
	remove := roleCall(id.WellKnownRole_Operator, id.WellKnownRole_Operator_RemoveIdentity, ruleVariant(uahive.ByUserName("guest")))
	for who, want := range map[string]ua.StatusCode{"anonymous": denied, "operator": denied, "plain admin": insecure} {
		if got := callRole(t, clients[who], add); got != want {
			t.Errorf("AddIdentity as %s: %v, want %v", who, got, want)
		}
	}
	if got := recipe(guest); got != denied {
		t.Fatalf("the guest begins with %v", got)
	}
	admin := clients["admin"]
	if got := callRole(t, admin, add); got != good {
		t.Fatalf("AddIdentity: %v", got)
	}
	becomes(good)
	if got := callRole(t, admin, add); got != ua.BadAlreadyExists {
		t.Errorf("AddIdentity again: %v", got)
	}
	if kept := saved.Load(); kept == nil || len((*kept)[0].Identities) != 2 {
		t.Errorf("saved: %+v", kept)
	}
	failing.Store(true)
	if got := callRole(t, admin, remove); got != ua.BadResourceUnavailable {
		t.Errorf("RemoveIdentity that cannot be saved: %v", got)
	}
	becomes(good)
	failing.Store(false)

	// Only for one application, which the test's client is not.
	exclude := ua.NumericID(0, id.WellKnownRole_Operator_ApplicationsExclude)
	write := func(c *client.Client, on bool) ua.StatusCode {
		return do[ua.WriteResponse](t, c, &ua.WriteRequest{NodesToWrite: []ua.WriteValue{
			{NodeID: exclude, AttributeID: ua.AttributeIDValue, Value: ua.DataValue{Value: ua.BooleanVariant(on)}},
		}}).Results[0]
	}
	if got := write(clients["operator"], false); got != denied {
		t.Errorf("an operator writes ApplicationsExclude: %v", got)
	}
	station := roleCall(id.WellKnownRole_Operator, id.WellKnownRole_Operator_AddApplication, ua.StringVariant("urn:station"))
	if got := callRole(t, admin, station); got != good {
		t.Errorf("AddApplication: %v", got)
	}
	if got := write(admin, false); got != good {
		t.Errorf("ApplicationsExclude: %v", got)
	}
	becomes(denied)
	if got := write(admin, true); got != good {
		t.Errorf("ApplicationsExclude: %v", got)
	}
	becomes(good)

	endpoint := &ua.EndpointType{EndpointURL: "opc.tcp://elsewhere:4840", SecurityMode: ua.MessageSecurityModeSignAndEncrypt}
	if got := callRole(t, admin, roleCall(id.WellKnownRole_Operator, id.WellKnownRole_Operator_AddEndpoint, ua.VariantOf(ua.ObjectOf(endpoint)))); got != good {
		t.Errorf("AddEndpoint: %v", got)
	}
	if got := callRole(t, admin, roleCall(id.WellKnownRole_Operator, id.WellKnownRole_Operator_RemoveEndpoint, ua.VariantOf(ua.ObjectOf(endpoint)))); got != good {
		t.Errorf("RemoveEndpoint: %v", got)
	}
	if got := callRole(t, admin, roleCall(id.WellKnownRole_Operator, id.WellKnownRole_Operator_RemoveEndpoint, ua.VariantOf(ua.ObjectOf(endpoint)))); got != ua.BadNotFound {
		t.Errorf("RemoveEndpoint again: %v", got)
	}
	everybody := roleCall(id.WellKnownRole_SecurityAdmin, id.WellKnownRole_SecurityAdmin_AddIdentity, ruleVariant(uahive.AllAnonymous))
	if got := callRole(t, admin, everybody); got != ua.BadRequestNotAllowed {
		t.Errorf("making everybody an administrator: %v", got)
	}
	wrong := roleCall(id.WellKnownRole_Operator, id.WellKnownRole_Operator_AddIdentity, ruleVariant(uahive.ByThumbprint("x")))
	if got := callRole(t, admin, wrong); got != ua.BadInvalidArgument {
		t.Errorf("a rule that makes no sense: %v", got)
	}
	if got := callRole(t, admin, remove); got != good {
		t.Errorf("RemoveIdentity: %v", got)
	}
	becomes(denied)
}

// The objects of the RoleSet show what holds, to administrators.
func TestTheRoleSetShowsTheRules(t *testing.T) {
	w := newWorks(t, nil)
	clients := w.people()
	identities := []ua.NodeID{
		ua.NumericID(0, id.WellKnownRole_Anonymous_Identities), ua.NumericID(0, id.WellKnownRole_AuthenticatedUser_Identities),
		ua.NumericID(0, id.WellKnownRole_TrustedApplication_Identities), ua.NumericID(0, id.WellKnownRole_Operator_Identities),
		ua.StringID(1, "Role.Maintenance.Identities"),
	}
	values, err := clients["admin"].ReadValues(t.Context(), identities...)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{2, 1, 1, 1, 0} {
		if got := values[i].Value.Len(); got != want || values[i].Status != good {
			t.Errorf("%v: %d rules, want %d (%v)", identities[i], got, want, values[i].Status)
		}
	}
	for _, who := range []string{"anonymous", "operator"} {
		if values, err = clients[who].ReadValues(t.Context(), identities...); err != nil {
			t.Fatal(err)
		}
		for i := range values {
			if values[i].Status != denied {
				t.Errorf("%s reads %v: %v", who, identities[i], values[i].Status)
			}
		}
	}
	// A role of the program's own has the same methods.
	resp := do[ua.CallResponse](t, clients["admin"], &ua.CallRequest{MethodsToCall: []ua.CallMethodRequest{{
		ObjectID: ua.StringID(1, "Role.Maintenance"), MethodID: ua.StringID(1, "Role.Maintenance.AddIdentity"),
		InputArguments: []ua.Variant{ruleVariant(uahive.ByUserName("joe"))},
	}}})
	if got := resp.Results[0].StatusCode; got != good {
		t.Errorf("AddIdentity of a role of the program: %v", got)
	}
}

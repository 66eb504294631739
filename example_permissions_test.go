package uahive_test

import (
	"context"
	"fmt"

	"github.com/uahive/uahive"
)

// Roles are given to users by rules, and permissions to roles by nodes. What says
// nothing itself is under the default of its namespace.
func ExamplePermissions() {
	maintenance := uahive.CustomRole("Maintenance")
	srv, err := uahive.New(uahive.Config{
		PKI: "memory",
		Authenticate: func(_ context.Context, c uahive.Credentials) (*uahive.User, error) {
			return &uahive.User{Name: c.UserName, Groups: []string{"shift 1"}}, nil // after a look at the password
		},
		Roles: []uahive.RoleMapping{
			{Role: uahive.Operator, Identities: []uahive.IdentityRule{uahive.ByGroup("shift 1")}, Applications: []string{"urn:acme:panel"}},
			{Role: uahive.SecurityAdmin, Identities: []uahive.IdentityRule{uahive.ByUserName("ann")}},
			{Role: maintenance, Identities: []uahive.IdentityRule{uahive.ByUserName("bob")}},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	ns := srv.Namespace("urn:acme:press").DefaultPermissions(uahive.RecommendedPermissions()...)
	press := ns.Object("Press")
	uahive.AddVariable(press, "Speed", 12.5, uahive.Writable())
	uahive.AddVariable(press, "Recipe", "steel", uahive.Writable(), uahive.Restrictions(uahive.EncryptionRequired),
		uahive.Permissions(uahive.Operator.Can(uahive.Read), maintenance.Can(uahive.Read|uahive.Write)))
	fmt.Println(srv.Err())
	// Output: <nil>
}

package sessionactor

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// A program that logs what its Authenticate was given must not log passwords.
func TestCredentialsDoNotPrintThePassword(t *testing.T) {
	c := Credentials{Kind: UserName, UserName: "operator", Password: "hunter2", ApplicationURI: "urn:test:client"}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, value := range []any{c, &c, []Credentials{c}, struct{ C Credentials }{c}} {
			text := fmt.Sprintf(verb, value)
			if strings.Contains(text, "hunter2") || strings.Contains(text, fmt.Sprintf("%x", "hunter2")) {
				t.Errorf("%s of %T: %s", verb, value, text)
			}
			if !strings.Contains(text, "operator") {
				t.Errorf("%s of %T has lost the name: %s", verb, value, text)
			}
		}
	}
	text, err := json.Marshal(c)
	if err != nil || strings.Contains(string(text), "hunter2") {
		t.Errorf("%s %v", text, err)
	}
}

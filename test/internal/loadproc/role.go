//go:build linux

package loadproc

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
)

// The variables of the environment that make a test binary a helper.
const (
	roleVariable   = "LOADPROC_ROLE"
	configVariable = "LOADPROC_CONFIG"
)

// Roles are what a test binary can be beside a test, each with a function that
// gets its configuration in JSON. The process ends when the function returns,
// with code 1 after an error.
type Roles map[string]func(config []byte) error

// Role makes a function that wants a configuration of its own type one of Roles.
func Role[C any](run func(C) error) func([]byte) error {
	return func(raw []byte) error {
		var config C
		if err := json.Unmarshal(raw, &config); err != nil {
			return err
		}
		return run(config)
	}
}

// Play runs the role that this process was started for and ends it; it returns
// when the process is a test. TestMain calls it first. The canary is a role that
// every test binary has.
func Play(roles Roles) {
	name := os.Getenv(roleVariable)
	if name == "" {
		return
	}
	run := roles[name]
	if name == canaryRole {
		run = Role(watch)
	}
	if run == nil {
		fmt.Fprintf(os.Stderr, "there is no role %q\n", name)
		os.Exit(2)
	}
	if err := run([]byte(os.Getenv(configVariable))); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Start starts the test binary again, in a role.
func Start(t testing.TB, where Place, role string, config any) *Child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	where.Env = append([]string{roleVariable + "=" + role, configVariable + "=" + string(raw)}, where.Env...)
	return start(t, role, where.command(self))
}

package actors

import "testing"

// panicOnBug makes a broken invariant loud where somebody is watching: in test binaries and in
// builds with the race detector or the tag uahivedebug. In production the same event is counted and
// reported to the caller, because one confused queue must not take ten thousand sessions along.
var panicOnBug = ownerChecks || testing.Testing()

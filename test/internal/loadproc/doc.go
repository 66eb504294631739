// Package loadproc is the kit of the heavy tests: it starts a server and its
// clients as processes of their own, reads what the server holds, and lets a
// canary session tell whether anything that happened was felt by others. It
// judges nothing but that; what a server has to bear is the matter of the tests.
//
// It needs Linux: descriptors are counted in /proc, and the processes end with
// the test that started them.
package loadproc

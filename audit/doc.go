// Package audit owns what an audit trail says: which events of the standard tell of
// an action of a client, with which fields, and how many of them one peer can cause
// (Part 4, 6.5; Part 5, 6.4.3 to 6.4.27).
//
// It owns neither who listens, which is package publishloop's, nor where actions
// happen. What an entry says of a client never contains a secret: passwords and
// tokens are left out, and so are the arguments of methods that take some.
package audit

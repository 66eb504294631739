// Package events owns what an event is while it travels through the server: one
// occurrence of a type of events with its fields, immutable once it is reported
// (Part 5, 6.4.2), and the filters with which clients choose events and the fields
// of them that they want (Part 4, 7.22.3 and 7.7).
//
// It owns no queue and no list of who listens, which are those of package
// publishloop, and no conditions, whose state outlives an event.
package events

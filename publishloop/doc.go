// Package publishloop owns subscriptions and what they need to reach a client:
// monitored items with their queues and filters, parked Publish requests,
// notification messages and their retransmission (Part 4, 5.13 and 5.14).
//
// It owns neither sessions nor channels. A session has one [Queue], through
// which its Publish requests come in, and names itself with an [Identity]; the
// answers leave through a [Responder]. Service handlers call the methods of
// [Manager] and of the queue with decoded requests and fill in responses.
//
// # How it runs
//
// What the standard says of a subscription is the pure function [Step] over the
// plain data of a [State]. Publishing timers are shared: a beat has one goroutine
// and one timer for up to 32 subscriptions of the same interval, since a wake-up
// costs more than a publishing cycle. Everything else runs where it arrived, under
// the mutex of the subscription: a service call that only touches memory on the
// goroutine of the reader, and a Publish request for a subscription that is late
// as well, so that its answer leaves without waking anybody.
//
// A value change never takes the mutex of a subscription. It goes into the queue
// of the monitored item under that item's own mutex and, once per publishing
// cycle, puts the item on the subscription's list of changed items, under
// a lock that is a leaf. Nobody is woken for it: the next publishing tick finds
// the list.
//
// # Locks
//
// In the order in which they may be taken: [Subscription].mu, then either
// [Queue].mu or the mutex of an item. The last two are leaves, and none of them
// is held while a Responder, an Access check or a value source is called.
package publishloop

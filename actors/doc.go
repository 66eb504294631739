// Package actors is the runtime that the rest of uahive stands on. It knows nothing of OPC UA.
//
// It owns five things: [Mailbox], the queue in front of a long-lived goroutine; [Group], through
// which every goroutine starts, is counted by kind, and is waited for; [Pool], the bounded set of
// workers for calls that can wait; [Registry], a sharded map for state that many goroutines look up;
// and [Owner], an assertion that a piece of state is touched only by the goroutine that owns it.
//
// It does not own what an actor does. An actor is a plain loop of its own package that waits in one
// place, drains its mailbox, acts, flushes, and waits again:
//
//	for {
//		<-mail.Wait()
//		batch = mail.Drain(batch[:0])
//		for i := range batch { state.handle(&batch[i]) }
//		state.flush()
//	}
//
// Nothing here blocks the caller of Post or Submit, and nothing calls out while a lock is held.
package actors

package actors

// turns is the order in which a pool's waiting tasks are served: round robin over the owners that
// have a task and may run one, first come first served within an owner. It is plain data without a
// lock or a goroutine; the pool guards it.
type turns struct {
	ownerActive int

	waiting   int
	owners    map[uint64]*poolOwner
	last      *poolOwner // of the ring of owners that can run a task now; last.next is served next
	freeOwner *poolOwner // unused, linked by next
	freeTask  *poolTask  // unused, linked by next
}

// poolOwner exists while its owner has a task that runs or waits.
type poolOwner struct {
	id      uint64
	turns   *turns // of its class
	active  int
	waiting int // length of tasks
	tasks   taskList
	next    *poolOwner // in the ring, or in the free list
	inRing  bool
}

// poolTask is one task that waits, or that has a worker which has not begun yet.
type poolTask struct {
	owner *poolOwner
	run   func()
	next  *poolTask
}

// taskList is a first-in first-out list of tasks.
type taskList struct {
	first, last *poolTask
}

func (l *taskList) push(t *poolTask) {
	if l.first == nil {
		l.first = t
	} else {
		l.last.next = t
	}
	l.last = t
}

// pop removes the first task of a list that has one.
func (l *taskList) pop() *poolTask {
	t := l.first
	l.first = t.next
	if l.first == nil {
		l.last = nil
	}
	t.next = nil
	return t
}

func newTurns(ownerActive int) turns {
	return turns{ownerActive: ownerActive, owners: make(map[uint64]*poolOwner)}
}

// begin counts a task as running and returns it for [turns.take].
func (q *turns) begin(o *poolOwner, run func()) *poolTask {
	o.active++
	return q.newTask(o, run)
}

// take consumes a task that was begun.
func (q *turns) take(t *poolTask) (*poolOwner, func()) {
	o, run := t.owner, t.run
	*t = poolTask{next: q.freeTask}
	q.freeTask = t
	return o, run
}

// wait queues a task.
func (q *turns) wait(o *poolOwner, run func()) {
	o.tasks.push(q.newTask(o, run))
	o.waiting++
	q.waiting++
	q.enter(o)
}

// next removes the task whose turn it is and counts it as running. It returns nil when no owner with
// a waiting task may run one.
func (q *turns) next() (*poolOwner, func()) {
	if q.last == nil {
		return nil, nil
	}
	o := q.last.next
	t := o.tasks.pop()
	o.waiting--
	q.waiting--
	o.active++
	if o.waiting == 0 || o.active >= q.ownerActive {
		q.leave(o)
	} else {
		q.last = o
	}
	return q.take(t)
}

// ended counts a running task of o as done. It forgets an owner without tasks.
func (q *turns) ended(o *poolOwner) {
	o.active--
	q.enter(o)
	if o.active == 0 && o.waiting == 0 {
		q.forget(o)
	}
}

// drop forgets all waiting tasks and returns their number. Running ones still end by [turns.ended].
func (q *turns) drop() int {
	n := q.waiting
	q.waiting = 0
	q.last = nil
	for _, o := range q.owners {
		o.tasks, o.next = taskList{}, nil
		o.waiting, o.inRing = 0, false
		if o.active == 0 {
			q.forget(o)
		}
	}
	return n
}

// enter makes o the last to be served, if it has a task that may run.
func (q *turns) enter(o *poolOwner) {
	if o.inRing || o.waiting == 0 || o.active >= q.ownerActive {
		return
	}
	o.inRing = true
	if q.last == nil {
		o.next = o
	} else {
		o.next = q.last.next
		q.last.next = o
	}
	q.last = o
}

// leave takes o, which is q.last.next, out of the ring.
func (q *turns) leave(o *poolOwner) {
	if q.last == o {
		q.last = nil
	} else {
		q.last.next = o.next
	}
	o.next = nil
	o.inRing = false
}

// newOwner makes the entry of an owner that has none.
func (q *turns) newOwner(id uint64) *poolOwner {
	o := q.freeOwner
	if o == nil {
		o = new(poolOwner)
	} else {
		q.freeOwner = o.next
	}
	*o = poolOwner{id: id, turns: q}
	q.owners[id] = o
	return o
}

func (q *turns) forget(o *poolOwner) {
	delete(q.owners, o.id)
	*o = poolOwner{next: q.freeOwner}
	q.freeOwner = o
}

func (q *turns) newTask(o *poolOwner, run func()) *poolTask {
	t := q.freeTask
	if t == nil {
		t = new(poolTask)
	} else {
		q.freeTask = t.next
	}
	*t = poolTask{owner: o, run: run}
	return t
}

package actors

// Class says whose tasks go first where a pool has more than it can run. Most pools have one class,
// that of [Pool.Submit].
type Class uint8

// The classes, in the order in which they are served.
const (
	First Class = iota
	Second
	Last

	classes = 3
)

// patience is the number of tasks of earlier classes after which one of a later class has its turn, so
// that none waits for good while somebody keeps the first busy.
const patience = 16

// waiting is the number of tasks that wait. Called with mu.
func (p *Pool) waiting() int {
	n := 0
	for i := range p.turns {
		n += p.turns[i].waiting
	}
	return n
}

// nextTurn removes the task whose turn it is: of the first class that has one, and now and then of the
// last one that has. Called with mu.
func (p *Pool) nextTurn() (*poolOwner, func()) {
	first, last := -1, -1
	for i := range p.turns {
		if p.turns[i].last == nil {
			continue
		}
		if first < 0 {
			first = i
		}
		last = i
	}
	switch {
	case first < 0:
		return nil, nil
	case first == last:
		p.passed = 0
	default:
		if p.passed++; p.passed > patience {
			p.passed, first = 0, last
		}
	}
	return p.turns[first].next()
}

// ahead is what a new task would have to wait for, roughly.
type ahead struct {
	free    bool // a worker is, and the task waits for nothing
	earlier int  // tasks of earlier classes
	own     int  // those of its class that the turns between owners let go first, and one that runs
}

// ahead returns what would be served before a new task.
func (p *Pool) ahead(class Class, owner uint64) (a ahead) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.active < p.size {
		return ahead{free: true}
	}
	for i := range class {
		a.earlier += p.turns[i].waiting
	}
	q, own := &p.turns[class], 0
	if o := q.owners[owner]; o != nil {
		own = o.waiting
	}
	a.own = 1 + min(q.waiting, (own+1)*len(q.owners))
	return a
}

// everybody is what waits now, for one who would come behind all of it.
func (p *Pool) everybody() (a ahead) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a.own = p.turns[Last].waiting
	a.earlier = p.waiting() - a.own
	a.free = a.own+a.earlier == 0
	return a
}

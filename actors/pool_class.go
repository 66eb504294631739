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

// ahead returns how many tasks would be served before a new one, roughly: all of earlier classes, and
// of its own what the turns between owners let go first. It is 0 when a worker is free.
func (p *Pool) ahead(class Class, owner uint64) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.active < p.size {
		return 0
	}
	n := 1 // one that runs must end
	for i := range class {
		n += p.turns[i].waiting
	}
	q, own := &p.turns[class], 0
	if o := q.owners[owner]; o != nil {
		own = o.waiting
	}
	return n + min(q.waiting, (own+1)*len(q.owners))
}

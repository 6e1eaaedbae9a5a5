package disk

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store/log"
)

// Load delivers the newest state of every object in key order, and the changes of the last HistoryAge.
//
// Several goroutines read in parallel; one calls the functions of into. Damage is contained: an object whose
// newest state is damaged is reported, and of the history the part after the last damage is delivered. Load
// starts the maintain goroutine when it is done.
func (l *Log) Load(ctx context.Context, into log.Loading) (object.Revision, error) {
	h := newHistory(object.Revision(l.current.Load()), l.trimmer.trimmed)
	err := l.db.loadStates(ctx, h, into)
	if err == nil {
		err = l.db.readHistory(h)
	}
	if err == nil {
		err = h.replay(into.History)
	}
	if err != nil {
		return 0, fmt.Errorf("the store in %s: %w", l.dir.path, err)
	}
	if !l.dir.options.ReadOnly {
		l.bound.open(l.dir)
		l.work.Go(l.maintain)
	}
	return h.current, nil
}

// loadStates consumes the states that the readers read, part by part. The first error ends it.
func (db *database) loadStates(ctx context.Context, h *history, into log.Loading) error {
	parts, err := db.parts()
	if err != nil {
		return err
	}
	var readers sync.WaitGroup
	defer readers.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &reading{db: db, parts: parts, spare: make(chan []stored, spareChunks)}
	for range min(len(parts), runtime.GOMAXPROCS(0)) {
		readers.Go(func() { r.run(ctx) })
	}
	t := consumer{history: h, into: into}
	for i := range parts {
		p := &parts[i]
		for states := range p.states {
			if err := t.consumeAll(states); err != nil {
				return err
			}
			r.reuse(states)
		}
		if p.err != nil || p.rest {
			return p.err
		}
	}
	return nil
}

// consumer distinguishes the newest state of each object from older ones.
type consumer struct {
	history *history
	into    log.Loading
	last    stored
}

func (t *consumer) consumeAll(states []stored) error {
	for i := range states {
		if err := t.consume(&states[i]); err != nil {
			return err
		}
	}
	return nil
}

func (t *consumer) consume(s *stored) error {
	newest := t.last.key != s.key
	before := t.last
	t.last = *s
	if s.revision > t.history.current {
		return fmt.Errorf("%s has revision %d, and the last commit is %d: a file of the last commits (*.log) is "+
			"missing, or of another time: put it back, or restore a backup",
			s.key, s.revision, t.history.current)
	}
	t.history.addState(s, newest, before.revision)
	switch {
	case !newest:
		return nil
	case s.err != nil:
		return t.into.Damaged(s.key, s.err)
	case s.object != nil:
		return t.into.Live(s.object)
	}
	return nil
}

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
// Several goroutines read in parallel; the caller's goroutine calls the functions of into. Load reports an object
// whose newest state is damaged, and delivers only the part of the history after the last damage. Finally it starts
// the maintain goroutine, unless the log is read-only.
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
		l.durable.open(l.dir)
		l.work.Go(l.maintain)
	}
	return h.current, nil
}

// loadStates starts readers and consumes the states that they read, part by part, until the first error.
func (db *database) loadStates(ctx context.Context, h *history, into log.Loading) error {
	parts, err := db.parts()
	if err != nil {
		return err
	}
	var readers sync.WaitGroup
	defer readers.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &loading{db: db, parts: parts, spare: make(chan []stored, spareChunks)}
	for range min(len(parts), runtime.GOMAXPROCS(0)) {
		readers.Go(func() { r.readParts(ctx) })
	}
	c := consumer{history: h, into: into}
	for i := range parts {
		p := &parts[i]
		for states := range p.states {
			if err := c.consumeAll(states); err != nil {
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

// consumer passes the newest state of each object to into, and older states to the history.
type consumer struct {
	history *history
	into    log.Loading
	last    stored
}

func (c *consumer) consumeAll(states []stored) error {
	for i := range states {
		if err := c.consume(&states[i]); err != nil {
			return err
		}
	}
	return nil
}

func (c *consumer) consume(s *stored) error {
	newest := c.last.key != s.key
	before := c.last
	c.last = *s
	if s.revision > c.history.current {
		return fmt.Errorf("%s has revision %d, but the last commit is %d: a file of the last commits (*.log) is "+
			"missing, or was replaced by an older one: put it back, or restore a backup",
			s.key, s.revision, c.history.current)
	}
	c.history.addState(s, newest, before.revision)
	switch {
	case !newest:
		return nil
	case s.err != nil:
		return c.into.Damaged(s.key, s.err)
	case s.object != nil:
		return c.into.Live(s.object)
	}
	return nil
}

package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

// performer runs the operations of a script on stores of one log, and formats the results so that they are
// equal for all logs.
type performer struct {
	t       *testing.T
	open    Reopen
	durable bool
	stores  []*openStore
	watches []*openWatch
}

// openStore is a store and its initial revision. It may be closed again.
type openStore struct {
	store *store.Store
	base  object.Revision
	// from is the store that this one was forked from; nil for the store on the log.
	from *openStore
}

// openWatch is a watch and its selection.
type openWatch struct {
	*store.Watch
	store  *openStore
	prefix object.Key
	colour string
	// ended reports whether the watch has failed.
	ended bool
}

func (p *performer) close() {
	for _, w := range p.watches {
		w.Stop()
	}
	for _, l := range p.stores {
		if err := l.store.Close(); err != nil {
			p.t.Errorf("closing: %v", err)
		}
	}
}

// ago returns the revision the given number of commits back; -1 is in the future.
func (l *openStore) ago(back int) object.Revision { return l.store.Current() - object.Revision(back) }

// formatRevision formats a revision relative to the initial one of the store that assigned it, which is equal for all
// logs.
func (l *openStore) formatRevision(r object.Revision) string {
	if l.from != nil && r < l.base {
		return l.from.formatRevision(r)
	}
	return fmt.Sprintf("%+d", int64(r-l.base))
}

// formatObject formats an object with its labels and bytes, without the absolute revision.
func (l *openStore) formatObject(o *object.Object) string {
	if o == nil {
		return "nothing"
	}
	data := bytes.Replace(encoded(o), []byte(o.Revision.String()), []byte("R"), 1)
	return fmt.Sprintf("%s %v %s@%s", o.Key, o.Labels, data, l.formatRevision(o.Revision))
}

// formatError formats an error, without absolute revisions.
func (l *openStore) formatError(err error) string {
	var conflict *store.ConflictError
	var compacted *store.CompactedError
	var future *store.FutureError
	var full *store.QuotaError
	switch {
	case errors.As(err, &full):
		return fmt.Sprintf("namespace %q is full", full.Namespace)
	case errors.As(err, &conflict):
		return fmt.Sprintf("conflict at %s with %s", conflict.Key, l.formatObject(conflict.Actual))
	case errors.As(err, &compacted):
		return "compacted, the oldest is " + l.formatRevision(compacted.Oldest)
	case errors.As(err, &future):
		return fmt.Sprintf("%s is to come, the current is %s", l.formatRevision(future.Requested),
			l.formatRevision(future.Current))
	}
	return err.Error()
}

func (p *performer) perform(o operation) string {
	l := p.stores[o.store%len(p.stores)]
	switch o.kind {
	case "commit":
		return p.commit(l, o.drafts)
	case "get":
		return l.formatObject(l.store.Get(o.prefix))
	case "oldest":
		return l.formatRevision(l.store.Oldest()) + " to " + l.formatRevision(l.store.Current())
	case "latest":
		return p.list(l, o, store.Latest())
	case "exactly":
		return p.list(l, o, store.Exactly(l.ago(o.back)))
	case "atleast":
		return p.list(l, o, store.AtLeast(l.ago(o.back)))
	case "pages":
		return p.pages(l, o)
	case "watch":
		return p.watch(l, o)
	case "restart":
		return p.restart()
	case "fork":
		return p.fork(l)
	case "close":
		return p.end(l)
	}
	if len(p.watches) == 0 {
		return "no watch"
	}
	return p.useWatch(o, o.watch%len(p.watches))
}

func (p *performer) commit(l *openStore, drafts []draft) string {
	var changes []store.Change
	for _, d := range drafts {
		expect := store.Anything()
		switch found := l.store.Get(d.key); {
		case d.expect == "absent":
			expect = store.Absent()
		case d.expect == "current" && found != nil:
			expect = store.At(found.Revision)
		case d.expect == "back":
			expect = store.At(l.ago(d.back))
		}
		if d.value == "" {
			changes = append(changes, Delete(d.key, expect))
		} else {
			changes = append(changes, Put(d.key, d.value, expect))
		}
	}
	revision, err := l.store.Commit(p.t.Context(), changes...)
	if err != nil {
		return l.formatError(err)
	}
	return l.formatRevision(revision)
}

func (p *performer) list(l *openStore, o operation, which store.RevisionSelector) string {
	state, err := l.store.Snapshot(p.t.Context(), which)
	if err != nil {
		return l.formatError(err)
	}
	lines := []string{fmt.Sprintf("%d at %s", state.Len(o.prefix, ""), l.formatRevision(state.Revision()))}
	state.Scan(o.prefix, "", func(o *object.Object) bool {
		lines = append(lines, l.formatObject(o))
		return true
	})
	return strings.Join(lines, "; ")
}

// pages lists one revision in pages, each from a separate snapshot.
func (p *performer) pages(l *openStore, o operation) string {
	var lines []string
	revision := l.ago(max(o.back, 0))
	for from, more := object.Key(""), true; more; {
		state, err := l.store.Snapshot(p.t.Context(), store.Exactly(revision))
		if err != nil {
			return l.formatError(err)
		}
		page := 0
		state.Scan(o.prefix, from, func(found *object.Object) bool {
			lines = append(lines, l.formatObject(found))
			from = found.Key + "\x00"
			page++
			return page < o.limit
		})
		more = page == o.limit
	}
	return strings.Join(lines, "; ")
}

func (p *performer) watch(l *openStore, o operation) string {
	return p.begin(&openWatch{store: l, prefix: o.prefix, colour: o.colour}, l.ago(o.back))
}

// begin starts a watch and retains it if that succeeds.
func (p *performer) begin(w *openWatch, after object.Revision) string {
	var err error
	if w.Watch, err = w.store.store.Watch(w.prefix, after, needs(w.colour)...); err != nil {
		return w.store.formatError(err)
	}
	p.watches = append(p.watches, w)
	return "after " + w.store.formatRevision(after)
}

// useWatch takes events from a watch, or stops it.
func (p *performer) useWatch(o operation, i int) string {
	w := p.watches[i]
	if o.kind == "stop" {
		w.Stop()
		p.watches = slices.Delete(p.watches, i, i+1)
		return "stopped"
	}
	w.store.store.Oldest() // a log that writes trims the history in the background; trim it now on all logs
	events, err := w.Take(o.limit)
	if err != nil {
		w.ended = true
		return w.store.formatError(err)
	}
	var lines []string
	for _, e := range events {
		if kind, ok := e.TypeFor(w.selects); ok {
			lines = append(lines, fmt.Sprintf("%s %s after %s", kind, w.store.formatObject(e.Object),
				w.store.formatObject(e.Previous)))
		}
	}
	return fmt.Sprintf("%s; up to %s", strings.Join(lines, "; "), w.store.formatRevision(w.Revision()))
}

// selects reports whether the watch selects an object: the store may deliver others too.
func (w *openWatch) selects(o *object.Object) bool {
	return w.colour == "" || o.Labels["colour"] == w.colour
}

// maxStores bounds the number of stores, including closed ones.
const maxStores = 6

// fork forks a store, which may itself be a fork.
func (p *performer) fork(of *openStore) string {
	if len(p.stores) == maxStores {
		return "too many stores"
	}
	f, err := of.store.Fork(p.t.Context())
	if err != nil {
		return of.formatError(err)
	}
	p.stores = append(p.stores, &openStore{store: f, base: f.Current(), from: of})
	return fmt.Sprintf("store %d", len(p.stores)-1)
}

// end closes a fork but leaves it in the list, so that later operations use a closed store.
func (p *performer) end(l *openStore) string {
	if l.from == nil {
		return "not a fork"
	}
	if err := l.store.Close(); err != nil {
		p.t.Errorf("closing: %v", err)
	}
	return "closed"
}

// restart closes and reopens the store on the log, if the log is durable. All its watches stop and resume.
func (p *performer) restart() string {
	l := p.stores[0]
	var ended []*openWatch
	p.watches = slices.DeleteFunc(p.watches, func(w *openWatch) bool {
		if w.store == l {
			w.Stop()
			ended = append(ended, w)
		}
		return w.store == l
	})
	if p.durable {
		if err := l.store.Close(); err != nil {
			p.t.Errorf("closing: %v", err)
		}
		var err error
		if l.store, err = store.New(p.t.Context(), p.open(), bounded); err != nil {
			p.t.Fatalf("opening again: %v", err)
		}
	}
	lines := []string{"at " + l.formatRevision(l.store.Current())}
	for _, w := range ended {
		if !w.ended {
			lines = append(lines, p.begin(w, w.Revision()))
		}
	}
	return strings.Join(lines, "; ")
}

package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store/log"
)

// Journal is a medium for logs that stores commits as bytes in memory, so that another store can read them,
// later or at the same time.
type Journal struct {
	mu      sync.Mutex
	base    object.Revision
	commits []entry
	// changed is closed by the next append.
	changed chan struct{}
	writers int
}

// entry is an encoded commit, with the log that appended it and the time.
type entry struct {
	writer int
	data   []byte
	at     time.Time
}

// record is the encoding of a commit. A change without a record is a deletion.
type record struct {
	Revision object.Revision
	Changes  []recordedChange
}

type recordedChange struct {
	Key    object.Key
	Record []byte
}

// NewJournal returns an empty journal whose revisions start at an arbitrary number.
func NewJournal() *Journal {
	return &Journal{base: 1_234_567_890_000_000, changed: make(chan struct{})}
}

// Open returns a log on the journal, shared with all its other logs.
func (j *Journal) Open() log.Log {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.writers++
	return &journalLog{journal: j, writer: j.writers}
}

// current returns the revision of the last commit. The caller holds the lock.
func (j *Journal) current() object.Revision { return j.base + object.Revision(len(j.commits)) }

// after returns the commits after a revision, and the channel that the next append closes.
func (j *Journal) after(revision object.Revision) ([]entry, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.commits[revision-j.base:], j.changed
}

type journalLog struct {
	journal *Journal
	writer  int
}

func (l *journalLog) Load(_ context.Context, into log.Loading) (object.Revision, error) {
	entries, _ := l.journal.after(l.journal.base)
	live := map[object.Key]*object.Object{}
	var past []func() error
	for _, e := range entries {
		c, err := e.commit()
		if err != nil {
			return 0, err
		}
		for _, change := range c.Changes {
			event, err := eventOf(change, live[change.Key], c.Revision)
			if err != nil {
				return 0, err
			}
			live[change.Key] = change.Object
			past = append(past, func() error { return into.History(event, e.at) })
		}
	}
	for _, o := range live {
		if o == nil {
			continue
		}
		if err := into.Live(o); err != nil {
			return 0, err
		}
	}
	for _, take := range past {
		if err := take(); err != nil {
			return 0, err
		}
	}
	return l.journal.base + object.Revision(len(entries)), nil
}

// eventOf returns the event of a change to the state before it.
func eventOf(change log.Change, before *object.Object, revision object.Revision) (*object.Event, error) {
	e := &object.Event{Object: change.Object, Previous: before, Deleted: change.Object == nil}
	if !e.Deleted {
		return e, nil
	}
	var err error
	e.Object, err = before.At(revision)
	return e, err
}

func (l *journalLog) Instant() bool { return false }

func (l *journalLog) Append(_ context.Context, commits []log.Commit) error {
	entries := make([]entry, len(commits))
	for i, c := range commits {
		data, err := encode(c)
		if err != nil {
			return err
		}
		entries[i] = entry{l.writer, data, time.Now()}
	}
	j := l.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	if commits[0].Revision <= j.current() {
		return &log.BehindError{Current: j.current()}
	}
	for i, c := range commits {
		if want := j.current() + 1 + object.Revision(i); c.Revision != want {
			return fmt.Errorf("journal: got commit %d, expected %d", c.Revision, want)
		}
	}
	j.commits = append(j.commits, entries...)
	close(j.changed)
	j.changed = make(chan struct{})
	return nil
}

func (l *journalLog) Follow(ctx context.Context, after object.Revision, take func(log.Commit) error) error {
	for {
		entries, changed := l.journal.after(after)
		for _, e := range entries {
			after++
			if e.writer == l.writer {
				continue
			}
			c, err := e.commit()
			if err == nil {
				err = take(c)
			}
			if err != nil {
				return err
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

func (l *journalLog) Current(context.Context) (object.Revision, error) {
	l.journal.mu.Lock()
	defer l.journal.mu.Unlock()
	return l.journal.current(), nil
}

func (l *journalLog) Compact(object.Revision) {}

func (l *journalLog) Close() error { return nil }

// encode encodes a commit with its complete objects.
func encode(c log.Commit) ([]byte, error) {
	r := record{Revision: c.Revision}
	for _, change := range c.Changes {
		recorded := recordedChange{Key: change.Key}
		if o := change.Object; o != nil {
			recorded.Record = o.AppendRecord(nil)
		}
		r.Changes = append(r.Changes, recorded)
	}
	return json.Marshal(r)
}

func (e entry) commit() (log.Commit, error) {
	var r record
	if err := json.Unmarshal(e.data, &r); err != nil {
		return log.Commit{}, err
	}
	c := log.Commit{Revision: r.Revision}
	var reader object.Reader
	for _, recorded := range r.Changes {
		change := log.Change{Key: recorded.Key}
		if recorded.Record != nil {
			var err error
			if change.Object, err = reader.Read(recorded.Key, r.Revision, recorded.Record); err != nil {
				return log.Commit{}, err
			}
		}
		c.Changes = append(c.Changes, change)
	}
	return c, nil
}

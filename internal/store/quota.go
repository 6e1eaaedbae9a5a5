package store

import (
	"fmt"
	"maps"

	"github.com/bowline-dev/bowline/internal/object"
)

// Quota bounds the bytes of live objects, each counted as object.Object.Size. The zero value sets no bound.
//
// Only changes that add bytes are rejected. A quota that is smaller than what a log has stored loads everything, and
// objects can be deleted or become smaller.
type Quota struct {
	// Bytes bounds all objects; 0 means no bound.
	Bytes int64
	// NamespaceBytes bounds the objects of each namespace; 0 means no bound. The store counts the bytes of each
	// namespace only if it is set.
	NamespaceBytes int64
}

// reserveShare is the share of a quota that only changes of class Reserved use, beyond the quota. minReserve and
// maxReserve bound it.
const (
	reserveShare = 16
	minReserve   = 1 << 20
	maxReserve   = 256 << 20
)

// reserve returns the bytes beyond a bound that changes of class Reserved may use.
func reserve(bound int64) int64 { return min(max(bound/reserveShare, minReserve), maxReserve) }

// QuotaClass is how a change that adds bytes is treated when the quota is reached. A commit has the highest class of
// its changes.
type QuotaClass uint8

const (
	// Ordinary changes stay within the quota.
	Ordinary QuotaClass = iota
	// Reserved changes may also use the reserve: see reserve.
	Reserved
	// Exempt changes are never rejected. Deletions are exempt, and the writes with which a server starts.
	Exempt
)

// QuotaError is returned by Commit if the changes would exceed the quota. Nothing was changed.
type QuotaError struct {
	// Namespace is the namespace whose bound would be exceeded; empty if it is the bound of all objects.
	Namespace string
	// Bytes is what the objects have, Adds what the changes would add, and Max the bound.
	Bytes, Adds, Max int64
}

func (e *QuotaError) Error() string {
	where := "the store"
	if e.Namespace != "" {
		where = fmt.Sprintf("namespace %q", e.Namespace)
	}
	return fmt.Sprintf("%s is full: its objects have %d of at most %d bytes, and this write would add %d", where,
		e.Bytes, e.Max, e.Adds)
}

// Usage is how much of its quota a store uses.
type Usage struct {
	// Bytes is the size of all live objects, and Max the bound; 0 means no bound.
	Bytes, Max int64
	// Rejected counts the commits that the quota rejected.
	Rejected int64
}

// Near reports whether less than a tenth of the quota is left.
func (u Usage) Near() bool { return u.Max > 0 && u.Bytes > u.Max-u.Max/10 }

// usage counts the bytes of the live objects. The committer's mu guards it.
type usage struct {
	quota    Quota
	rejected int64
	// durable counts what is published, and staged what pending proposals add to it.
	durable, staged counter
}

// counter counts bytes of objects.
type counter struct {
	bytes int64
	// namespaces has the bytes of each namespace; nil without Quota.NamespaceBytes.
	namespaces map[string]int64
}

func newUsage(q Quota) usage {
	u := usage{quota: q}
	if q.NamespaceBytes > 0 {
		u.durable.namespaces, u.staged.namespaces = map[string]int64{}, map[string]int64{}
	}
	return u
}

// check returns *QuotaError if events add bytes and would exceed the quota.
func (u *usage) check(events []*object.Event, class QuotaClass) error {
	if class == Exempt || u.quota == (Quota{}) {
		return nil
	}
	err := within("", u.durable.bytes+u.staged.bytes, added(events, ""), u.quota.Bytes, class)
	if err == nil && u.quota.NamespaceBytes > 0 {
		err = u.checkNamespaces(events, class)
	}
	if err != nil {
		u.rejected++
	}
	return err
}

func (u *usage) checkNamespaces(events []*object.Event, class QuotaClass) error {
	for _, e := range events {
		namespace := namespaceOf(e)
		if namespace == "" {
			continue
		}
		bytes := u.durable.namespaces[namespace] + u.staged.namespaces[namespace]
		err := within(namespace, bytes, added(events, namespace), u.quota.NamespaceBytes, class)
		if err != nil {
			return err
		}
	}
	return nil
}

// within returns *QuotaError if objects of some bytes, to which a commit adds more, would exceed a bound.
func within(namespace string, bytes, adds, bound int64, class QuotaClass) error {
	allowed := bound
	if class == Reserved {
		allowed += reserve(bound)
	}
	if bound == 0 || adds <= 0 || bytes+adds <= allowed {
		return nil
	}
	return &QuotaError{Namespace: namespace, Bytes: bytes, Adds: adds, Max: bound}
}

// added returns the bytes that events add to a namespace, or to all objects if it is empty.
func added(events []*object.Event, namespace string) (bytes int64) {
	for _, e := range events {
		if namespace == "" || namespaceOf(e) == namespace {
			bytes += growth(e)
		}
	}
	return bytes
}

// namespaceOf returns the namespace of an event. That of a deletion may not have its object yet.
func namespaceOf(e *object.Event) string {
	if e.Object == nil {
		return e.Previous.Key.Namespace()
	}
	return e.Object.Key.Namespace()
}

// growth returns the bytes that an event adds to the live objects; it is negative if the event removes bytes.
func growth(e *object.Event) (bytes int64) {
	if !e.Deleted {
		bytes = int64(e.Object.Size())
	}
	if e.Previous != nil {
		bytes -= int64(e.Previous.Size())
	}
	return bytes
}

// publish counts what the events of a proposal add, once they are durable. staged reports whether the proposal was
// pending.
func (u *usage) publish(p *proposal, staged bool) {
	u.durable.add(p.events, 1)
	if staged {
		u.staged.add(p.events, -1)
	}
}

// add counts what events add, or with sign -1 takes it back.
func (c *counter) add(events []*object.Event, sign int64) {
	for _, e := range events {
		c.count(namespaceOf(e), sign*growth(e))
	}
}

// count counts bytes of an object in a namespace; it is empty for an object of the cluster.
func (c *counter) count(namespace string, bytes int64) {
	c.bytes += bytes
	if c.namespaces == nil {
		return
	}
	if c.namespaces[namespace] += bytes; c.namespaces[namespace] == 0 {
		delete(c.namespaces, namespace)
	}
}

// fork returns the usage of a fork of the published state.
func (u *usage) fork() usage {
	f := newUsage(u.quota)
	f.durable = counter{bytes: u.durable.bytes, namespaces: maps.Clone(u.durable.namespaces)}
	return f
}

// Usage returns how much of its quota the store uses.
func (s *Store) Usage() Usage {
	s.commits.mu.Lock()
	defer s.commits.mu.Unlock()
	u := &s.commits.usage
	return Usage{Bytes: u.durable.bytes, Max: u.quota.Bytes, Rejected: u.rejected}
}

package informer

import (
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/client"
)

// Mutations finds out who changes cached objects: it keeps a copy of each and compares.
type Mutations struct {
	test TB

	mu     sync.Mutex
	copies map[client.Object]runtime.Object
}

// TB is the part of testing.TB that reporting takes.
type TB interface {
	Helper()
	Errorf(format string, arguments ...any)
	Cleanup(f func())
}

// DetectMutations fails the test when an object in the cache of an informer with this option is changed, and says which
// fields were. It looks when an object leaves the cache, at the end of the test, and before and after a handler is called
// with it: what changed in between it names the handler for. It costs a copy of each object.
func DetectMutations(t TB) *Mutations {
	m := &Mutations{test: t, copies: map[client.Object]runtime.Object{}}
	t.Cleanup(m.compareAll)
	return m
}

// hold keeps a copy of an object that comes into a cache.
func (m *Mutations) hold(obj client.Object) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.copy(obj)
}

// copy keeps a copy of an object, unless there is one.
func (m *Mutations) copy(obj client.Object) (added bool) {
	_, held := m.copies[obj]
	if !held {
		m.copies[obj] = obj.DeepCopyObject()
	}
	return !held
}

// release compares an object that leaves a cache.
func (m *Mutations) release(obj client.Object) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.compare(obj, "")
	delete(m.copies, obj)
}

// during makes a call of a handler, and compares the objects that it was called with.
func (m *Mutations) during(handler string, call func(), objects ...client.Object) {
	if m == nil {
		call()
		return
	}
	borrowed := m.before(objects)
	defer m.after(handler, objects, borrowed)
	call()
}

// before compares objects that a handler is about to see, and makes copies of those that have left the cache already.
func (m *Mutations) before(objects []client.Object) (borrowed []client.Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, obj := range objects {
		m.compare(obj, "")
		if m.copy(obj) {
			borrowed = append(borrowed, obj)
		}
	}
	return borrowed
}

// after compares objects that a handler has seen.
func (m *Mutations) after(handler string, objects, borrowed []client.Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, obj := range objects {
		m.compare(obj, " by the handler "+handler)
	}
	for _, obj := range borrowed {
		delete(m.copies, obj)
	}
}

func (m *Mutations) compareAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for obj := range m.copies {
		m.compare(obj, "")
	}
}

// compare reports a change, once.
func (m *Mutations) compare(obj client.Object, by string) {
	m.test.Helper()
	before, held := m.copies[obj]
	if !held || reflect.DeepEqual(before, obj) {
		return
	}
	m.copies[obj] = obj.DeepCopyObject()
	m.test.Errorf("the cached %T %s was changed%s; objects from a cache are shared, copy them first:\n%s",
		obj, KeyOf(before.(client.Object)), by, strings.Join(differences(before, obj), "\n"))
}

package informer

import (
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/client"
)

// Mutations detects modifications of cached objects: it retains a copy of each object and compares the two. Set it in
// Options or FactoryOptions. It is safe for concurrent use.
type Mutations struct {
	test TB

	mu   sync.Mutex
	held map[client.Object]*heldObject
}

// heldObject is the copy of an object, and the number of caches and handler calls that use the object.
type heldObject struct {
	copy    runtime.Object
	holders int
}

// TB is the part of testing.TB that DetectMutations uses.
type TB interface {
	// Helper marks the calling function as a test helper.
	Helper()
	// Errorf fails the test with a message.
	Errorf(format string, arguments ...any)
	// Cleanup calls f at the end of the test.
	Cleanup(f func())
}

// DetectMutations returns Mutations that fail the test if an object in the cache of an informer is modified, and
// report the fields. They compare objects when these leave the cache, at the end of the test, and before and after each
// handler call, so that they can name the handler. They copy each object once.
func DetectMutations(t TB) *Mutations {
	m := &Mutations{test: t, held: map[client.Object]*heldObject{}}
	t.Cleanup(m.compareAll)
	return m
}

// hold copies an object that enters a cache.
func (m *Mutations) hold(obj client.Object) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.addUser(obj)
}

// addUser adds a user of an object.
func (m *Mutations) addUser(obj client.Object) {
	h := m.held[obj]
	if h == nil {
		h = &heldObject{copy: obj.DeepCopyObject()}
		m.held[obj] = h
	}
	h.holders++
}

// release compares an object that leaves a cache.
func (m *Mutations) release(obj client.Object) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.compare(obj, "")
	m.removeUser(obj)
}

// removeUser removes a user of an object.
func (m *Mutations) removeUser(obj client.Object) {
	h := m.held[obj]
	if h == nil {
		return
	}
	if h.holders--; h.holders == 0 {
		delete(m.held, obj)
	}
}

// during calls a handler and compares the objects passed to it, which may leave the cache meanwhile.
func (m *Mutations) during(handler string, call func(), objects ...client.Object) {
	if m == nil {
		call()
		return
	}
	m.before(objects)
	defer m.after(handler, objects)
	call()
}

// before compares objects before a handler gets them.
func (m *Mutations) before(objects []client.Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, obj := range objects {
		m.compare(obj, "")
		m.addUser(obj)
	}
}

// after compares objects after a handler returned.
func (m *Mutations) after(handler string, objects []client.Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, obj := range objects {
		m.compare(obj, " by the handler "+handler)
		m.removeUser(obj)
	}
}

func (m *Mutations) compareAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for obj := range m.held {
		m.compare(obj, "")
	}
}

// compare reports a change, once.
func (m *Mutations) compare(obj client.Object, by string) {
	m.test.Helper()
	h := m.held[obj]
	if h == nil || reflect.DeepEqual(h.copy, obj) {
		return
	}
	before := h.copy
	h.copy = obj.DeepCopyObject()
	m.test.Errorf("the cached %T %s was changed%s; objects from a cache are shared, copy them first:\n%s",
		obj, KeyOf(before.(client.Object)), by, strings.Join(differences(before, obj), "\n"))
}

package informer

import (
	"encoding/json"
	"reflect"
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

// DetectMutations fails the test when an object in the cache of an informer with this option is changed. It looks when
// an object leaves the cache and at the end of the test, and costs a copy of each object.
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
	if _, held := m.copies[obj]; !held {
		m.copies[obj] = obj.DeepCopyObject()
	}
}

// release compares an object that leaves a cache.
func (m *Mutations) release(obj client.Object) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.compare(obj)
	delete(m.copies, obj)
}

// blame compares an object that a handler has just seen.
func (m *Mutations) blame(handler string, obj client.Object) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.compare(obj)
}

func (m *Mutations) compareAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for obj := range m.copies {
		m.compare(obj)
	}
}

func (m *Mutations) compare(obj client.Object) {
	m.test.Helper()
	before, held := m.copies[obj]
	if !held || reflect.DeepEqual(before, obj) {
		return
	}
	m.test.Errorf("the cached %T %s was changed; objects from a cache are shared, copy them first\nbefore: %s\nafter:  %s",
		obj, KeyOf(obj), printed(before), printed(obj))
}

func printed(obj any) string {
	data, err := json.Marshal(obj)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

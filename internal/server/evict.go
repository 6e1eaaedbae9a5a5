package server

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/object"
)

// evict serves the create of an eviction: a delete, with the options that the body carries, if those agree who guard the object.
func (s *Server) evict(c *call, o writeOptions, body runtime.Object) error {
	options, err := c.sub.Evicts.Options(c.name, body)
	if err != nil {
		return err
	}
	if options == nil {
		options = &metav1.DeleteOptions{}
	}
	if o.dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	_, err = s.removeAsking(c, c.key(), options, func(obj kind.Object) ([]store.Change, error) { return s.askGuards(c, obj) })
	if err != nil {
		return err
	}
	c.answerDone(body)
	return nil
}

// askGuards asks the guards of an object whether it may be evicted, and returns what that costs one of them. A server without
// their kind has none.
func (s *Server) askGuards(c *call, obj kind.Object) ([]store.Change, error) {
	resource := c.sub.Evicts.Guards
	var guards []kind.Object
	err := reader{s}.List(c.context(), resource, c.namespace, func(guard kind.Object) bool {
		guards = append(guards, guard)
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("reading who guards the object: %w", err)
	}
	paid, err := c.sub.Evicts.Ask(obj, guards)
	if err != nil || paid == nil {
		return nil, err
	}
	return s.payment(object.KeyOf(resource, c.namespace, paid.GetName()), paid)
}

// payment is the change of a guard, which must be as it was asked.
func (s *Server) payment(key object.Key, paid kind.Object) ([]store.Change, error) {
	k, served := s.kinds.Stored(key.GroupResource())
	current := s.store.Get(key)
	asked, err := revisionOf(paid)
	if err != nil {
		return nil, err
	}
	if !served || current == nil || current.Revision != asked {
		return nil, &store.ConflictError{Key: key, Actual: current}
	}
	fresh, err := encode(k, paid, current.Form())
	if err != nil {
		return nil, err
	}
	return []store.Change{{Key: key, Object: fresh, Expect: store.At(asked)}}, nil
}

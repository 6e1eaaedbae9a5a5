package server

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

// evict serves the create of an eviction: a delete with the options of the body, if the guards of the object
// allow it.
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
	_, err = s.removeAsking(c, c.key(), options, func(obj kind.Object) ([]store.Change, error) {
		return s.askGuards(c, obj)
	})
	if err != nil {
		return err
	}
	c.answerDone(body)
	return nil
}

// askGuards asks the guards of an object (its PodDisruptionBudgets) whether it may be evicted. It returns the
// change of the guard that records the eviction. A server without their kind has no guards.
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
	paid, err := c.sub.Evicts.Check(obj, guards)
	if err != nil || paid == nil {
		return nil, err
	}
	return s.payment(object.KeyOf(resource, c.namespace, paid.GetName()), paid)
}

// payment returns the change of a guard. It conflicts if the guard has changed since it was read.
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

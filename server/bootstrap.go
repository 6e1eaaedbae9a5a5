package server

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/kind"
	"github.com/bowline-dev/bowline/object"
	"github.com/bowline-dev/bowline/store"
)

// firstNamespaces exist in every cluster.
var firstNamespaces = []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, "kube-node-lease"}

// bootstrap makes the objects that every cluster starts with, where they are not there yet.
func (s *Server) bootstrap(ctx context.Context) error {
	k, ok := s.kinds.Stored(schema.GroupResource{Resource: "namespaces"})
	if !ok {
		return nil
	}
	for _, name := range firstNamespaces {
		if err := s.ensure(ctx, k, name); err != nil {
			return fmt.Errorf("making the namespace %s: %w", name, err)
		}
	}
	return nil
}

// ensure creates an object that has nothing but a name, unless it exists.
func (s *Server) ensure(ctx context.Context, k kind.Kind, name string) error {
	form := object.Form{APIVersion: k.Info().Endpoints[0].APIVersion()}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"name": name}})
	if err != nil {
		return err
	}
	obj, _, err := k.DecodeRequest(form, body, true)
	if err != nil {
		return err
	}
	fillCreate(obj)
	k.Prepare(obj, nil, "")
	if err := validateCreate(k, obj); err != nil {
		return err
	}
	fresh, err := encode(k, obj, form)
	if err != nil {
		return err
	}
	_, err = s.store.Commit(ctx, store.Change{Key: fresh.Key, Object: fresh, Expect: store.Absent()})
	if isConflict(err) {
		return nil
	}
	return err
}

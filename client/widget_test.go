package client_test

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/wire"
)

// Widget is registered under a group that its package path does not name.
type Widget struct{ widget }

func (w *Widget) DeepCopyObject() runtime.Object {
	return &Widget{*w.widget.DeepCopyObject().(*widget)}
}

// addWidgets is like a generated AddToScheme.
func addWidgets(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(widgets.GroupVersion(), &Widget{})
	return nil
}

const widgetDefinition = `
{"metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
 "names":{"kind":"Widget","plural":"widgets"},
 "versions":[{"name":"v1","served":true,"storage":true,
  "subresources":{"status":{},"scale":{"specReplicasPath":".spec.size","statusReplicasPath":".status.size"}},
  "schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`

// connected starts a plane and returns a client with the type Widget.
func connected(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.New(startPlane(t).RESTConfig(), client.Types(addWidgets))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func defineWidgets(t *testing.T, c *client.Client) {
	t.Helper()
	definition, err := wire.Decode[*apiextensionsv1.CustomResourceDefinition]([]byte(widgetDefinition))
	if err != nil {
		t.Fatal(err)
	}
	definitions := client.For[*apiextensionsv1.CustomResourceDefinition](c)
	if _, err := definitions.Create(t.Context(), definition, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

package garbagecollector_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/transcript"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/garbagecollector"
	"github.com/bowline-dev/bowline/internal/controllers/namespace"
)

func TestTranscripts(t *testing.T) {
	t.Parallel()
	// otherwise the plane runs a collector of its own
	alone := bowlinetest.With(func(o *bowline.Options) { o.Controllers = []string{namespace.Name} })
	transcript.Test(t, "testdata/*.txt", alone, bowlinetest.Manage(func(m *controller.Manager) error {
		garbagecollector.Add(m)
		return nil
	}))
}

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`

// A kind that is not served may be served later: its dependents wait, and are deleted when the kind is served
// and the owner does not exist.
func TestDependentsOfUnservedKindsWait(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		p.Apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: early,
			ownerReferences: [{apiVersion: example.com/v1, kind: Widget, name: never, uid: a-uid}]}}`)
		time.Sleep(time.Hour)
		if _, err := bowlinetest.Client[*corev1.ConfigMap](t, p).Get(t.Context(), "default", "early"); err != nil {
			t.Fatalf("dependent of an unserved kind after an hour: %v", err)
		}
		p.Apply(t, definition)
		bowlinetest.WaitForDeletion[*corev1.ConfigMap](t, p, "default", "early")
	})
}

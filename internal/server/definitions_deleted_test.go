package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/admission"
)

// The instances of a deleted definition are deleted first, at once if nothing holds them.
func TestDefinitionDeletesInstancesFirst(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.namespace(t, "other")
	define(t, w, widgets())
	w.create(t, widgetsPath, widget("a", `{}`))
	w.create(t, strings.Replace(widgetsPath, "default", "other", 1), widget("b", `{}`))
	instances := w.open(t, "/apis/example.com/v1/widgets?watch=1")
	instances.want(t, "ADDED a", "ADDED b")
	definitions := w.open(t, definitionsPath+"?watch=1")
	definitions.want(t, "ADDED widgets.example.com")
	undefine(t, w, "widgets.example.com")
	last := instances.want(t, "DELETED a", "DELETED b")
	for {
		e, ok := definitions.next(t)
		if !ok {
			t.Fatal("the watch of definitions ended")
		}
		if e.Type == "DELETED" {
			if a, b := valueAt(last.Object, "metadata", "resourceVersion").(string), valueAt(e.Object, "metadata",
				"resourceVersion").(string); a >= b {
				t.Errorf("the last instance was deleted at %s, the definition at %s, want it later", a, b)
			}
			break
		}
	}
	w.get(t, widgetsPath).want(t, http.StatusNotFound)
	w.get(t, definitionsPath+"/widgets.example.com").want(t, http.StatusNotFound)
}

// A deleted definition waits for the finalizers of its instances. They are served and may be changed until
// then, and no new ones can be created.
func TestDefinitionWaitsForInstanceFinalizers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		define(t, w, widgets())
		held := `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"held","finalizers":["example.com/hold"]},"spec":{}}`
		w.create(t, widgetsPath, held)
		w.create(t, widgetsPath, widget("free", `{}`))
		undefine(t, w, "widgets.example.com")
		synctest.Wait()
		if got := w.names(t, widgetsPath); got != "held" {
			t.Errorf("%q is left, want held", got)
		}
		if got := definitionCondition(t, w, "widgets.example.com",
			apiextensionsv1.Terminating); got != "True InstanceDeletionInProgress" {
			t.Errorf("terminating: %s", got)
		}
		w.send(t, http.MethodPost, widgetsPath, widget("late", `{}`)).wantError(t, http.StatusForbidden,
			metav1.StatusReasonForbidden, "create not allowed while custom resource definition is terminating")
		w.send(t, http.MethodPost, widgetsPath+"?dryRun=All", widget("late", `{}`)).wantError(t, http.StatusForbidden,
			metav1.StatusReasonForbidden, "terminating")
		w.send(t, http.MethodPost, definitionsPath, must(jsonOf(widgets()))(t)).wantError(t, http.StatusConflict,
			metav1.StatusReasonAlreadyExists, "object is being deleted")
		undefine(t, w, "widgets.example.com") // again, which changes nothing
		w.send(t, http.MethodPatch, widgetsPath+"/held", `{"spec":{"size":2}}`, "Content-Type", mergeType).want(t,
			http.StatusOK)
		w.send(t, http.MethodPatch, widgetsPath+"/held", `{"metadata":{"finalizers":null}}`, "Content-Type",
			mergeType).want(t, http.StatusOK)
		synctest.Wait()
		w.get(t, definitionsPath+"/widgets.example.com").want(t, http.StatusNotFound)
		w.get(t, widgetsPath).want(t, http.StatusNotFound)

		define(t, w, widgets())
		if got := w.names(t, widgetsPath); got != "" {
			t.Errorf("the recreated definition has the instances %q", got)
		}
		w.create(t, widgetsPath, widget("held", `{}`))
	})
}

// A definition can be created again with another schema, without any remains of the previous one.
func TestRecreateDefinitionWithNewSchema(t *testing.T) {
	t.Parallel()
	w := start(t)
	for round := range 5 {
		crd := widgets()
		maximum := float64(round)
		props := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		size := props.Properties["size"]
		size.Minimum, size.Maximum = nil, &maximum
		props.Properties["size"] = size
		define(t, w, crd)
		w.create(t, widgetsPath, widget("a", fmt.Sprintf(`{"size":%d}`, round)))
		w.send(t, http.MethodPost, widgetsPath, widget("b", fmt.Sprintf(`{"size":%d}`, round+1))).want(t,
			http.StatusUnprocessableEntity)
		undefine(t, w, crd.Name)
	}
}

// createBlocker blocks creates of widgets between validation and commit until it is opened.
type createBlocker struct{ arrived, open chan struct{} }

func (*createBlocker) Name() string { return "Gate" }
func (*createBlocker) Handles(op admission.Operation, r resourceOf, _ string) bool {
	return op == admission.Create && r.Resource == "widgets"
}
func (*createBlocker) Admit(ctx, *admission.Attributes, admission.Reader) error { return nil }
func (g *createBlocker) Validate(ctx, *admission.Attributes, admission.Reader) error {
	close(g.arrived)
	<-g.open
	return nil
}

// A create that races with the deletion of its definition leaves no instance behind.
func TestCreateRacesWithDefinitionDelete(t *testing.T) {
	t.Parallel()
	for _, held := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			g := &createBlocker{make(chan struct{}), make(chan struct{})}
			w := start(t, func(o *bowline.Options) { o.Plugins = []admission.Plugin{g} })
			define(t, w, widgets())
			var created response
			var group errgroup.Group
			group.Go(func() (err error) {
				created, err = w.try(t.Context(), http.MethodPost, widgetsPath, strings.NewReader(widget("late", `{}`)))
				return err
			})
			<-g.arrived
			if held {
				w.send(t, http.MethodPatch, definitionsPath+"/widgets.example.com",
					`{"metadata":{"finalizers":["customresourcecleanup.apiextensions.k8s.io","example.com/hold"]}}`,
					"Content-Type", mergeType).want(t, http.StatusOK)
			}
			undefine(t, w, "widgets.example.com")
			synctest.Wait()
			close(g.open)
			if err := group.Wait(); err != nil {
				t.Fatal(err)
			}
			if created.code != http.StatusNotFound && created.code != http.StatusForbidden {
				t.Errorf("held %t: the late create was answered %d %s", held, created.code, created.body)
			}
			if held {
				w.send(t, http.MethodPatch, definitionsPath+"/widgets.example.com", `{"metadata":{"finalizers":null}}`,
					"Content-Type", mergeType).want(t, http.StatusOK)
			}
			define(t, w, widgets())
			if got := w.names(t, widgetsPath); got != "" {
				t.Errorf("held %t: the recreated definition has the instances %q", held, got)
			}
		})
	}
}

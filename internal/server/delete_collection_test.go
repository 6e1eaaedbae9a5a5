package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/admission"
)

// slowDelete is a plugin that takes a second to validate the delete of a config map, and warns. It panics for the
// name fatal.
type slowDelete struct{ calls atomic.Int64 }

func (*slowDelete) Name() string { return "SlowDelete" }

func (*slowDelete) Handles(op admission.Operation, resource resourceOf, _ string) bool {
	return op == admission.Delete && resource.Resource == "configmaps"
}

func (*slowDelete) Admit(ctx, *admission.Attributes, admission.Reader) error { return nil }

func (p *slowDelete) Validate(_ ctx, a *admission.Attributes, _ admission.Reader) error {
	p.calls.Add(1)
	time.Sleep(time.Second)
	a.Warn(a.Old.GetName() + " was in use")
	if a.Old.GetName() == "fatal" {
		panic("plugin failure")
	}
	return nil
}

// The objects of a collection are deleted concurrently, each once. The answer contains all of them, with
// their warnings.
func TestDeleteCollectionIsConcurrent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		plugin := &slowDelete{}
		w := start(t, func(o *bowline.Options) { o.Plugins = []admission.Plugin{plugin} })
		const objects = 64
		for i := range objects {
			w.createConfigMaps(t, "default", fmt.Sprintf("a-%02d", i))
		}
		began := time.Now()
		answer := w.send(t, http.MethodDelete, configMaps, "").want(t, http.StatusOK)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("deleting %d objects, each of which takes a second, took %s", objects, took)
		}
		items, _ := answer.object(t)["items"].([]any)
		warnings := answer.header.Values("Warning")
		if len(items) != objects || len(warnings) != objects || plugin.calls.Load() != objects {
			t.Errorf("%d objects are in the answer, with %d warnings, of %d deletes", len(items), len(warnings),
				plugin.calls.Load())
		}
		if left, _ := w.get(t, configMaps).object(t)["items"].([]any); len(left) != 0 {
			t.Errorf("%d objects are left", len(left))
		}
	})
}

// A panic ends only the request, which is answered with an error; the object stays.
func TestDeleteCollectionReportsPanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(o *bowline.Options) { o.Plugins = []admission.Plugin{&slowDelete{}} })
		w.createConfigMaps(t, "default", "a", "fatal", "z")
		status := w.send(t, http.MethodDelete, configMaps, "").wantError(t, http.StatusInternalServerError,
			metav1.StatusReasonUnknown, "plugin failure")
		if !strings.Contains(status.Message, "fatal") {
			t.Errorf("the message %q does not name the object", status.Message)
		}
		w.get(t, configMaps+"/fatal").want(t, http.StatusOK)
	})
}

// A deletecollection stops at its deadline with an error; the remaining objects stay.
func TestDeleteCollectionStopsAtDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(o *bowline.Options) { o.Plugins = []admission.Plugin{&slowDelete{}} })
		const objects = 100
		for i := range objects {
			w.createConfigMaps(t, "default", fmt.Sprintf("a-%02d", i))
		}
		w.send(t, http.MethodDelete, configMaps+"?timeout=1500ms", "").wantError(t, http.StatusGatewayTimeout,
			metav1.StatusReasonTimeout, "")
		if left, _ := w.get(t, configMaps).object(t)["items"].([]any); len(left) == 0 || len(left) == objects {
			t.Errorf("%d objects are left", len(left))
		}
	})
}

// pausedDelete is a plugin that pauses deletes of config maps without a propagation policy: it sends on paused, and
// continues when the test sends on resume.
type pausedDelete struct{ paused, resume chan struct{} }

func (pausedDelete) Name() string { return "PausedDelete" }

func (pausedDelete) Handles(op admission.Operation, resource resourceOf, _ string) bool {
	return op == admission.Delete && resource.Resource == "configmaps"
}

func (pausedDelete) Admit(ctx, *admission.Attributes, admission.Reader) error { return nil }

func (p pausedDelete) Validate(_ ctx, a *admission.Attributes, _ admission.Reader) error {
	if a.Deletion.PropagationPolicy == nil {
		p.paused <- struct{}{}
		<-p.resume
	}
	return nil
}

// An object that was created after the list, with the name of a listed one, is not deleted.
func TestDeleteCollectionSkipsRecreatedObject(t *testing.T) {
	t.Parallel()
	p := pausedDelete{make(chan struct{}), make(chan struct{})}
	w := start(t, func(o *bowline.Options) { o.Plugins = []admission.Plugin{p} })
	w.createConfigMaps(t, "default", "a")
	answered := make(chan response, 1)
	go func() {
		r, _ := w.try(t.Context(), http.MethodDelete, configMaps, strings.NewReader(""))
		answered <- r
	}()
	<-p.paused
	w.send(t, http.MethodDelete, configMaps+"/a?propagationPolicy=Background", "").want(t, http.StatusOK)
	w.createConfigMaps(t, "default", "a")
	p.resume <- struct{}{}
	(<-answered).want(t, http.StatusOK)
	w.get(t, configMaps+"/a").want(t, http.StatusOK)
}

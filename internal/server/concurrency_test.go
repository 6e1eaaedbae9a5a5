package server_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// 50 concurrent patches of different labels all take effect, in each patch type, on a typed and on a custom
// object.
func TestConcurrentPatchesOfDifferentLabels(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	w.create(t, widgetsPath, widget("a", `{}`))
	cm := configMap("a")
	cm.Labels = map[string]string{"first": "1"}
	must(w.clients.CoreV1().ConfigMaps("default").Create(t.Context(), cm, metav1.CreateOptions{}))(t)
	custom := w.dynamic.Resource(widgetsResource).Namespace("default")
	const writers = 50
	concurrently(t, writers, func(ctx context.Context, i int) error {
		merge := fmt.Appendf(nil, `{"metadata":{"labels":{"l%d":"1"}}}`, i)
		add := fmt.Appendf(nil, `[{"op":"add","path":"/metadata/labels/l%d","value":"1"}]`, i)
		kind, body := types.MergePatchType, merge
		switch i % 3 {
		case 1:
			kind, body = types.JSONPatchType, add
		case 2:
			kind = types.StrategicMergePatchType
		}
		if _, err := w.clients.CoreV1().ConfigMaps("default").Patch(ctx, "a", kind, body,
			metav1.PatchOptions{}); err != nil {
			return err
		}
		_, err := custom.Patch(ctx, "a", types.MergePatchType, merge, metav1.PatchOptions{})
		return err
	})
	if got := must(w.clients.CoreV1().ConfigMaps("default").Get(t.Context(), "a",
		metav1.GetOptions{}))(t).Labels; len(got) != writers+1 {
		t.Errorf("the config map has %d labels: %v", len(got), got)
	}
	if got := must(custom.Get(t.Context(), "a", metav1.GetOptions{}))(t).GetLabels(); len(got) != writers {
		t.Errorf("the widget has %d labels: %v", len(got), got)
	}
}

// Of 50 concurrent updates with one revision, one succeeds and the others conflict.
func TestConcurrentUpdatesOfOneRevision(t *testing.T) {
	t.Parallel()
	w := start(t)
	maps := w.clients.CoreV1().ConfigMaps("default")
	cm := must(maps.Create(t.Context(), configMap("a"), metav1.CreateOptions{}))(t)
	var won, conflicted atomic.Int32
	var winner atomic.Value
	concurrently(t, 50, func(ctx context.Context, i int) error {
		mine := cm.DeepCopy()
		mine.Data = map[string]string{"writer": fmt.Sprint(i)}
		_, err := maps.Update(ctx, mine, metav1.UpdateOptions{})
		switch {
		case err == nil:
			won.Add(1)
			winner.Store(fmt.Sprint(i))
		case apierrors.IsConflict(err):
			conflicted.Add(1)
		default:
			return err
		}
		return nil
	})
	got := must(maps.Get(t.Context(), "a", metav1.GetOptions{}))(t).Data["writer"]
	if won.Load() != 1 || conflicted.Load() != 49 || got != winner.Load() {
		t.Errorf("%d updates succeeded and %d conflicted; %q is stored, want %q", won.Load(), conflicted.Load(), got,
			winner.Load())
	}
}

// Of 50 concurrent creates of one name, one succeeds and the others fail.
func TestConcurrentCreatesOfOneName(t *testing.T) {
	t.Parallel()
	w := start(t)
	var won atomic.Int32
	concurrently(t, 50, func(ctx context.Context, _ int) error {
		_, err := w.clients.CoreV1().ConfigMaps("default").Create(ctx, configMap("a"), metav1.CreateOptions{})
		if err == nil {
			won.Add(1)
		} else if !apierrors.IsAlreadyExists(err) {
			return err
		}
		return nil
	})
	if won.Load() != 1 {
		t.Errorf("%d creates succeeded, want 1", won.Load())
	}
}

// Concurrent writers of a deployment's replicas and of its image lose no update.
func TestConcurrentPatchesOfDifferentFields(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.create(t, deployments, deploymentBody("a"))
	deployments := w.clients.AppsV1().Deployments("default")
	const rounds = 25
	concurrently(t, 2, func(ctx context.Context, i int) error {
		for n := 1; n <= rounds; n++ {
			patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n)
			if i == 1 {
				patch = fmt.Appendf(nil,
					`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"nginx:%d"}]}}}}`, n)
			}
			if _, err := deployments.Patch(ctx, "a", types.StrategicMergePatchType, patch,
				metav1.PatchOptions{}); err != nil {
				return err
			}
		}
		return nil
	})
	var d *appsv1.Deployment = must(deployments.Get(t.Context(), "a", metav1.GetOptions{}))(t)
	if image := d.Spec.Template.Spec.Containers[0].Image; *d.Spec.Replicas != rounds ||
		image != fmt.Sprintf("nginx:%d", rounds) {
		t.Errorf("%d replicas of %s", *d.Spec.Replicas, image)
	}
	if want := int64(1 + 2*rounds); d.Generation > want || d.Generation < rounds {
		t.Errorf("generation %d after %d changes", d.Generation, 2*rounds)
	}
}

// Of 20 concurrent PUTs of an object that does not exist, one creates it and the others update it.
func TestConcurrentPutsOfMissingObject(t *testing.T) {
	t.Parallel()
	w := start(t)
	var created atomic.Int32
	concurrently(t, 20, func(ctx context.Context, i int) error {
		body := fmt.Sprintf(`{"metadata":{"name":"e","namespace":"default"},"involvedObject":{"namespace":"default"},"message":"%d"}`, i)
		r, err := w.try(ctx, http.MethodPut, "/api/v1/namespaces/default/events/e", strings.NewReader(body))
		switch {
		case err != nil:
			return err
		case r.code == http.StatusCreated:
			created.Add(1)
		case r.code != http.StatusOK:
			return fmt.Errorf("%d %s", r.code, r.body)
		}
		return nil
	})
	if created.Load() != 1 {
		t.Errorf("%d of them created it", created.Load())
	}
}

// Updates without a revision replace any state, and none of 20 concurrent ones fails.
func TestConcurrentUpdatesWithoutRevision(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.createConfigMaps(t, "default", "a")
	concurrently(t, 20, func(ctx context.Context, i int) error {
		_, err := w.clients.CoreV1().ConfigMaps("default").Update(ctx, configMap("a", "writer", fmt.Sprint(i)),
			metav1.UpdateOptions{})
		return err
	})
}

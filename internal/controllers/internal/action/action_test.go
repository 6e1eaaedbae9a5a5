package action_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/trial"
)

var configs = corev1.SchemeGroupVersion.WithResource("configmaps")

// fixture is a server with the ConfigMap "owner" and its dependents "one" and "two", which have the label
// of=owner.
type fixture struct {
	*testing.T
	executor        *action.Executor
	configs         client.Resource[*corev1.ConfigMap]
	owner, one, two *corev1.ConfigMap
}

func withServer(t *testing.T, test func(w *fixture)) {
	t.Helper()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		c, err := client.New(p.RESTConfig())
		if err != nil {
			t.Fatal(err)
		}
		w := &fixture{T: t, executor: &action.Executor{Client: c}, configs: client.Of[*corev1.ConfigMap](c, configs)}
		w.owner = w.create(w.object("owner", nil))
		w.one, w.two = w.create(w.object("one", w.owner)), w.create(w.object("two", w.owner))
		test(w)
	}, trial.Alone())
}

// object returns a ConfigMap that is controlled by owner unless that is nil.
func (w *fixture) object(name string, owner *corev1.ConfigMap) *corev1.ConfigMap {
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	if owner != nil {
		obj.Labels = map[string]string{"of": owner.Name}
		obj.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner,
			corev1.SchemeGroupVersion.WithKind("ConfigMap"))}
	}
	return obj
}

func (w *fixture) create(obj *corev1.ConfigMap) *corev1.ConfigMap {
	w.Helper()
	made, err := w.configs.Create(w.Context(), obj, metav1.CreateOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return made
}

// change updates an object with new data and returns the result.
func (w *fixture) change(obj *corev1.ConfigMap) *corev1.ConfigMap {
	w.Helper()
	obj = obj.DeepCopy()
	obj.Data = map[string]string{"changed": obj.ResourceVersion}
	changed, err := w.configs.Update(w.Context(), obj, metav1.UpdateOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return changed
}

func (w *fixture) remove(obj *corev1.ConfigMap) {
	w.Helper()
	if err := w.configs.Delete(w.Context(), obj.Namespace, obj.Name, metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
}

// expect carries out an action, and fails the test unless it succeeds or, if behind is set, returns
// ErrStaleCache.
func (w *fixture) expect(a action.Action, behind bool) {
	w.Helper()
	if _, err := w.executor.Do(w.Context(), a); errors.Is(err, action.ErrStaleCache) != behind || !behind &&
		err != nil {
		w.Errorf("%s: got error %v, want ErrStaleCache: %t", a, err, behind)
	}
}

// The shortest of several delays counts, and a delay that is not positive requeues at once.
func TestShortestRequeueCounts(t *testing.T) {
	t.Parallel()
	executor := &action.Executor{}
	for _, c := range []struct {
		after []time.Duration
		want  func(time.Duration) bool
	}{
		{nil, func(d time.Duration) bool { return d == 0 }},
		{[]time.Duration{time.Hour, time.Minute, 2 * time.Minute}, func(d time.Duration) bool {
			return d == time.Minute
		}},
		{[]time.Duration{time.Hour, 0}, func(d time.Duration) bool { return d > 0 && d < time.Millisecond }},
		{[]time.Duration{-time.Second, time.Hour}, func(d time.Duration) bool { return d > 0 && d < time.Millisecond }},
	} {
		var all []action.Action
		for _, d := range c.after {
			all = append(all, action.Requeue{After: d})
		}
		if got, err := executor.Do(t.Context(), all...); err != nil || !c.want(got.RequeueAfter) {
			t.Errorf("delays %v: got RequeueAfter %s, error %v", c.after, got.RequeueAfter, err)
		}
	}
}

func TestAbsentReadsFromServer(t *testing.T) {
	t.Parallel()
	withServer(t, func(w *fixture) {
		w.expect(action.Absent{Resource: configs, Namespace: "default", Name: "one"}, true)
		w.expect(action.Absent{Resource: configs, Namespace: "default", Name: "three"}, false)
		w.expect(action.Absent{Resource: configs, Namespace: "elsewhere", Name: "one"}, false)
	})
}

func TestUnchangedDetectsChanges(t *testing.T) {
	t.Parallel()
	withServer(t, func(w *fixture) {
		current := func(seen ...*corev1.ConfigMap) action.Action {
			return action.Unchanged[*corev1.ConfigMap]{Resource: configs, Objects: seen}
		}
		w.expect(current(w.one, w.two), false)
		changed := w.change(w.two)
		w.expect(current(w.one, w.two), true)
		w.expect(current(w.one, changed), false)
		w.remove(changed)
		w.expect(current(w.one, changed), true)
		w.create(w.object("two", w.owner))
		w.expect(current(changed), true) // another object of the same name
	})
}

// DependentsUnchanged compares the versions of an owner's dependents; DependentUIDsUnchanged only detects
// added and removed ones.
func TestDependentPreconditions(t *testing.T) {
	t.Parallel()
	withServer(t, func(w *fixture) {
		selector := labels.SelectorFromSet(labels.Set{"of": "owner"})
		expect := func(same, known bool, seen ...*corev1.ConfigMap) {
			w.Helper()
			w.expect(action.DependentsUnchanged[*corev1.ConfigMap]{Resource: configs, Owner: w.owner,
				Selector: selector, Objects: seen}, !same)
			w.expect(action.DependentUIDsUnchanged[*corev1.ConfigMap]{Resource: configs, Owner: w.owner,
				Selector: selector, Objects: seen}, !known)
		}
		expect(true, true, w.one, w.two)
		expect(false, false, w.one)
		orphan := w.object("orphan", nil)
		orphan.Labels = w.one.Labels
		orphan = w.create(orphan)
		expect(true, true, w.one, w.two, orphan)
		changed := w.change(w.two)
		expect(false, true, w.one, w.two)
		expect(true, true, w.one, changed)
		w.remove(changed)
		expect(false, false, w.one, changed)
		expect(true, true, w.one)
		w.create(w.object("three", w.owner))
		expect(false, false, w.one)
	})
}

// A slow answer is requested again, and after the last attempt it is an error.
func TestSlowAnswersAreRequestedAgain(t *testing.T) {
	t.Parallel()
	withServer(t, func(w *fixture) {
		for _, c := range []struct {
			slow, requests int
			fails          bool
		}{{0, 1, false}, {1, 2, false}, {2, 3, false}, {3, 3, true}} {
			requests := 0
			err := action.RetryIfSlow(func() error {
				if requests++; requests <= c.slow {
					time.Sleep(3 * time.Second)
				}
				return nil
			})
			if requests != c.requests || (err != nil) != c.fails {
				w.Errorf("%d slow answers: got %d requests, error %v; want %d, an error: %t", c.slow, requests, err,
					c.requests, c.fails)
			}
		}
		failed := errors.New("refused")
		if err := action.RetryIfSlow(func() error {
			time.Sleep(3 * time.Second)
			return failed
		}); !errors.Is(err, failed) {
			w.Error(err)
		}
	})
}

// Creating an object that exists with the same controller succeeds. It fails if the object has another
// controller or is being deleted.
func TestCreateAcceptsExistingDependent(t *testing.T) {
	t.Parallel()
	withServer(t, func(w *fixture) {
		create := func(obj *corev1.ConfigMap, acceptExisting bool) error {
			return action.Create[*corev1.ConfigMap]{Resource: configs, Object: obj,
				AcceptExisting: acceptExisting}.Do(context.Background(), w.executor)
		}
		if err := create(w.object("one", w.owner), false); err != nil {
			t.Error(err)
		}
		if err := create(w.object("one", w.two), false); !apierrors.IsAlreadyExists(err) {
			t.Errorf("object of another owner: got error %v, want AlreadyExists", err)
		}
		if err := create(w.object("one", nil), true); err != nil {
			t.Errorf("AcceptExisting: got error %v", err)
		}
		held := w.object("held", w.owner)
		held.Finalizers = []string{"example.com/hold"}
		w.remove(w.create(held))
		if err := create(w.object("held", w.owner), false); !apierrors.IsAlreadyExists(err) {
			t.Errorf("object that is being deleted: got error %v, want AlreadyExists", err)
		}
	})
}

// Delete deletes only the observed object and not a newer one of the same name.
func TestDeleteRequiresObservedUID(t *testing.T) {
	t.Parallel()
	withServer(t, func(w *fixture) {
		remove := func(seen *corev1.ConfigMap, unchanged bool) error {
			return action.Delete[*corev1.ConfigMap]{Resource: configs, Object: seen,
				IfUnchanged: unchanged}.Do(context.Background(), w.executor)
		}
		w.change(w.one)
		if err := remove(w.one, true); !apierrors.IsConflict(err) {
			t.Errorf("changed object: got error %v, want a conflict", err)
		}
		if err := remove(w.one, false); err != nil {
			t.Error(err)
		}
		if err := remove(w.one, true); err != nil {
			t.Errorf("deleted object: got error %v", err)
		}
		recreated := w.create(w.object("one", w.owner))
		if err := remove(w.one, false); err != nil {
			t.Errorf("new object of the same name: got error %v", err)
		}
		if _, err := w.configs.Get(w.Context(), "default", recreated.Name); err != nil {
			t.Errorf("new object of the same name: got error %v", err)
		}
	})
}

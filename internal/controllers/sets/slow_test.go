package sets_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/trial"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/sets"
)

// run is one of a set's keeper: one claim, and a question and two actions that keep the set. They are done once each, at most.
type run struct {
	sets client.Resource[*appsv1.StatefulSet]
	// claim and keep are how long the claim and the first action take. scaled says that somebody changes the set during the claim,
	// and behind that the question finds another answer after that, or once something is kept.
	claim, keep    time.Duration
	scaled, behind bool
	claimed        atomic.Bool
	// kept is how much was done.
	kept atomic.Int32
}

// step is an action.
type step func(ctx context.Context) error

func (step) String() string { return "a test" }

func (s step) Do(ctx context.Context, _ *action.Hand) error { return s(ctx) }

func (r *run) decide(s sets.Seen[*appsv1.StatefulSet]) (sets.Plan[appsv1.StatefulSetStatus], error) {
	plan := sets.Plan[appsv1.StatefulSetStatus]{Status: s.Set.Status}
	if s.Set.Generation > 1 || r.kept.Load() > 0 {
		return plan, nil
	}
	claim := step(func(ctx context.Context) (err error) {
		defer r.claimed.Store(r.claim > 0)
		time.Sleep(r.claim)
		if r.scaled {
			size := []byte(`{"spec":{"replicas":0}}`)
			_, err = r.sets.Patch(ctx, "default", "web", "", types.MergePatchType, size, metav1.PatchOptions{})
		}
		return err
	})
	ask := step(func(context.Context) error {
		if r.behind && (r.claimed.Load() || r.kept.Load() > 0) {
			return action.ErrBehind
		}
		return nil
	})
	keep := step(func(context.Context) error {
		r.kept.Add(1)
		time.Sleep(r.keep)
		return nil
	})
	plan.Claim, plan.Keep = []action.Action{claim}, []action.Action{ask, keep, keep}
	return plan, nil
}

// What is kept follows from the set and its pods as they are when it is done, not as they were when the claims began.
func TestNothingIsKeptOfWhatChangedMeanwhile(t *testing.T) {
	t.Parallel()
	const long = 30 * time.Second
	for name, c := range map[string]struct {
		*run
		want int32
	}{
		"all is quick":                  {&run{behind: true}, 2},
		"all is slow":                   {&run{claim: long, keep: long}, 2},
		"the set is scaled meanwhile":   {&run{claim: long, scaled: true}, 0},
		"its pods are others by then":   {&run{claim: long, behind: true}, 0},
		"its pods are its own new ones": {&run{keep: long, behind: true}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := c.run
			bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
				r.sets = bowlinetest.Client[*appsv1.StatefulSet](t, p)
				set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}}
				set.Spec.Template = trial.Web()
				set.Spec.Selector = &metav1.LabelSelector{MatchLabels: set.Spec.Template.Labels}
				if _, err := r.sets.Create(t.Context(), set, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * time.Minute)
				if kept := r.kept.Load(); kept != c.want {
					t.Errorf("%d of two actions were carried out, not %d", kept, c.want)
				}
			}, trial.Alone(), bowlinetest.Manage(func(m *controller.Manager) error {
				r.keeper(m)
				return nil
			}))
		})
	}
}

func (r *run) keeper(m *controller.Manager) {
	sets.Keep(m, sets.Kept[*appsv1.StatefulSet, appsv1.StatefulSetStatus]{
		Name: "test", Component: "test", Workers: 1,
		In: appsv1.SchemeGroupVersion.WithResource("statefulsets"), Kind: appsv1.SchemeGroupVersion.WithKind("StatefulSet"),
		Selector: func(s *appsv1.StatefulSet) *metav1.LabelSelector { return s.Spec.Selector },
		Status:   func(s *appsv1.StatefulSet) *appsv1.StatefulSetStatus { return &s.Status },
		Decide:   r.decide,
	})
}

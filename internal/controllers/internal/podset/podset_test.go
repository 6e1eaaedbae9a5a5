package podset_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podset"
	"github.com/bowline-dev/bowline/internal/trial"
)

// run is a controller whose plan has one claim, a precondition and two writes, and which carries the plan
// out at most once.
type run struct {
	sets client.Resource[*appsv1.StatefulSet]
	// claimDelay and applyDelay are the durations of the claim and of each action. If scaled is set, another
	// client changes the set during the claim. If stale is set, the precondition fails after a slow claim or
	// after the first action.
	claimDelay, applyDelay time.Duration
	scaled, stale          bool
	claimed                atomic.Bool
	// applied counts the actions that ran.
	applied atomic.Int32
}

// step is a function that serves as an action.
type step func(ctx context.Context) error

func (step) String() string { return "a test" }

func (s step) Do(ctx context.Context, _ *action.Executor) error { return s(ctx) }

func (r *run) decide(s podset.Observed[*appsv1.StatefulSet]) (podset.Plan[appsv1.StatefulSetStatus], error) {
	plan := podset.Plan[appsv1.StatefulSetStatus]{Status: s.Set.Status}
	if s.Set.Generation > 1 || r.applied.Load() > 0 {
		return plan, nil
	}
	claim := step(func(ctx context.Context) (err error) {
		defer r.claimed.Store(r.claimDelay > 0)
		time.Sleep(r.claimDelay)
		if r.scaled {
			size := []byte(`{"spec":{"replicas":0}}`)
			_, err = r.sets.Patch(ctx, "default", "web", "", types.MergePatchType, size, metav1.PatchOptions{})
		}
		return err
	})
	precondition := step(func(context.Context) error {
		if r.stale && (r.claimed.Load() || r.applied.Load() > 0) {
			return action.ErrStaleCache
		}
		return nil
	})
	write := step(func(context.Context) error {
		r.applied.Add(1)
		time.Sleep(r.applyDelay)
		return nil
	})
	plan.Claim, plan.Apply = []action.Action{claim}, []action.Action{precondition, write, write}
	return plan, nil
}

// The writes depend on the set and its pods as they are when the writes start, not as they were when the
// claim started.
func TestChangesDuringClaimStopActions(t *testing.T) {
	t.Parallel()
	const long = 30 * time.Second
	for name, c := range map[string]struct {
		*run
		want int32
	}{
		"fast claim and writes":           {&run{stale: true}, 2},
		"slow claim and writes":           {&run{claimDelay: long, applyDelay: long}, 2},
		"set scaled during the claim":     {&run{claimDelay: long, scaled: true}, 0},
		"pods changed during the claim":   {&run{claimDelay: long, stale: true}, 0},
		"pods changed by the first write": {&run{applyDelay: long, stale: true}, 2},
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
				if applied := r.applied.Load(); applied != c.want {
					t.Errorf("got %d writes, want %d", applied, c.want)
				}
			}, trial.Alone(), bowlinetest.Manage(func(m *controller.Manager) error {
				r.addController(m)
				return nil
			}))
		})
	}
}

func (r *run) addController(m *controller.Manager) {
	podset.Add(m, podset.Config[*appsv1.StatefulSet, appsv1.StatefulSetStatus]{
		Name: "test", Component: "test", Workers: 1,
		Resource: appsv1.SchemeGroupVersion.WithResource("statefulsets"),
		Kind:     appsv1.SchemeGroupVersion.WithKind("StatefulSet"),
		Selector: func(s *appsv1.StatefulSet) *metav1.LabelSelector { return s.Spec.Selector },
		Status:   func(s *appsv1.StatefulSet) *appsv1.StatefulSetStatus { return &s.Status },
		Decide:   r.decide,
	})
}

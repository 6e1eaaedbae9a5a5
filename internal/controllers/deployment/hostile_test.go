package deployment_test

import (
	"math"
	"strconv"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/bowline-dev/bowline/internal/controllers/deployment"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// Sums of sizes near the largest one do not become negative.
func TestLargestSizesDoNotOverflow(t *testing.T) {
	t.Parallel()
	const largest = math.MaxInt32
	for _, c := range []struct {
		name      string
		surge     string
		scaledFor string // the size and the maximum when the ReplicaSets were last scaled
		sets      []set
		want      string
	}{
		{"first ReplicaSet", "100%", "5", nil, "web:2 2147483647"},
		{"new template", "100%", "2147483647", []set{{"web:1", largest, 5000}}, "web:2 0"},
		{"new template exists", "0", "2147483647", []set{{"web:1", largest, 5000}, {"web:2", 0, 0}},
			"web:1 1610612736"},
		{"several ReplicaSets", "4294967295%", "2147483647",
			[]set{{"web:0", largest, 5000}, {"web:1", largest, 5000}, {"web:2", largest, 5000}}, "web:0 5000, web:1 2147478647"},
		{"scaled up", "2", "1", []set{{"web:1", 4, 4}, {"web:2", 3, 3}}, "web:1 2147483644, web:2 3"},
	} {
		d := deploymentOf(largest)
		surge := intstr.Parse(c.surge)
		d.Spec.Strategy.RollingUpdate.MaxSurge = &surge
		unavailable := intstr.FromString("25%")
		d.Spec.Strategy.RollingUpdate.MaxUnavailable = &unavailable
		s := observed(d, c.sets...)
		for _, set := range s.Sets {
			set.Annotations[deployment.DesiredAnnotation] = c.scaledFor
			set.Annotations[deployment.MaxAnnotation] = c.scaledFor
		}
		actions := deployment.Decide(s)
		if got := sizes(actions); got != c.want {
			t.Errorf("%s: got sizes %q, want %q", c.name, got, c.want)
		}
		if status := writtenStatus(actions); status.UnavailableReplicas < 0 || status.Replicas < 0 {
			t.Errorf("%s: got status %+v, want no negative number", c.name, status)
		}
	}
}

// writtenStatus returns the status that the actions write.
func writtenStatus(actions []action.Action) (none appsv1.DeploymentStatus) {
	for _, a := range actions {
		if then, ok := a.(action.OnSuccess); ok {
			return then.Action.(action.Update[*appsv1.Deployment]).Object.Status
		}
	}
	return none
}

// A client has written the largest revision, after which no other follows. The controller assigns it again and does
// not write a negative one.
func TestLargestRevisionDoesNotOverflow(t *testing.T) {
	t.Parallel()
	s := observed(deploymentOf(5), set{"web:1", 5, 5})
	largest := strconv.Itoa(math.MaxInt64)
	s.Sets[0].Annotations[deployment.RevisionAnnotation] = largest
	for _, a := range guarded(deployment.Decide(s)) {
		if o, ok := a.(action.OnFailure); ok {
			created := o.Action.(action.Create[*appsv1.ReplicaSet]).Object
			if got := created.Annotations[deployment.RevisionAnnotation]; got != largest {
				t.Errorf("got revision %s, want %s", got, largest)
			}
		}
	}
}

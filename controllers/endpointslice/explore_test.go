package endpointslice_test

import (
	"fmt"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/trial"
	"github.com/bowline-dev/bowline/controllers/endpointslice"
)

func TestNoFaultHidesAPod(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, serving(trial.Of(endpointslice.Add).Once()))
}

func TestTwoAtOnceSayTheSame(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, serving(trial.Of(endpointslice.Add).Twice()))
}

// serving is a service whose pods come, become ready, and go.
func serving(processes []bowlinetest.Process) bowlinetest.Scenario {
	return bowlinetest.Scenario{
		Options:    []bowlinetest.Option{trial.Alone()},
		Processes:  processes,
		Act:        trial.Serve,
		Settle:     2 * time.Minute,
		Invariants: []func(bowlinetest.State) error{once},
		Compare:    trial.Untimed,
		Skip:       trial.Events,
		Budget:     30,
	}
}

// once is broken when a pod is in two slices.
func once(s bowlinetest.State) error {
	in := map[string]string{}
	for _, obj := range s.Kind("EndpointSlice") {
		slice := &discoveryv1.EndpointSlice{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, slice); err != nil {
			return err
		}
		for _, e := range slice.Endpoints {
			if other, twice := in[e.TargetRef.Name]; twice {
				return fmt.Errorf("pod %s is in the slices %s and %s", e.TargetRef.Name, other, slice.Name)
			}
			in[e.TargetRef.Name] = slice.Name
		}
	}
	return nil
}

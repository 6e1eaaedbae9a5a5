package controller_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/object"
)

// disturb sets the ConfigMap to a value that no controller desires, as a user.
func (s *stage) disturb() {
	s.Helper()
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: testObject.Namespace, Name: testObject.Name},
		Data: map[string]string{"way": "none"}}
	if _, err := s.maps.Update(s.Context(), obj, metav1.UpdateOptions{}); err != nil {
		s.Fatal(err)
	}
}

// Two planes have objects with the same names and revisions. A journal of both does not regard a write on one plane as
// the cause of a run on the other, or the two as a hot loop.
func TestControllersOfTwoPlanesAreSeparate(t *testing.T) {
	t.Parallel()
	onStage(t, func(first *stage) {
		onPlane(first.T, func(second *stage) {
			shared := controller.ManagerOptions{Journal: first.plane.Journal()}
			first.run("left", shared, sets("way", "left"))
			second.run("right", shared, sets("way", "right"))
			first.create()
			time.Sleep(time.Second)
			second.create() // its writes have the same revisions as those of the first plane
			for range 30 {
				first.disturb()
				time.Sleep(500 * time.Millisecond)
				second.disturb()
				time.Sleep(500 * time.Millisecond)
			}
			report := first.plane.Journal().Report(testObject, 1000)
			if len(report.Loops) > 0 || len(first.warnings()) > 0 {
				t.Errorf("got loops %+v, want none", report.Loops)
			}
			equalRevisions := false
			controllers, writers := map[string]string{}, map[object.Revision]string{}
			for _, run := range report.Runs {
				controllers[run.ID] = run.Controller
				for _, w := range run.Writes {
					equalRevisions = equalRevisions || writers[w.Revision] != "" &&
						writers[w.Revision] != run.Controller
					writers[w.Revision] = run.Controller
				}
				for _, before := range run.After {
					if controllers[before] != run.Controller {
						t.Errorf("got a run of %s caused by one of %q", run.Controller, controllers[before])
					}
				}
			}
			if !equalRevisions {
				t.Error("no two writes have the same revision, so the test is void")
			}
		})
	})
}

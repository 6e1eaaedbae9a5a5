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
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: it.Namespace, Name: it.Name},
		Data: map[string]string{"way": "none"}}
	if _, err := s.maps.Update(s.Context(), obj, metav1.UpdateOptions{}); err != nil {
		s.Fatal(err)
	}
}

// Two planes have objects with the same names and revisions. A journal of both does not regard a write on one plane as
// the cause of a run on the other, or the two as a hot loop.
func TestControllersOfTwoPlanesAreSeparate(t *testing.T) {
	t.Parallel()
	onStage(t, func(here *stage) {
		onPlane(here.T, func(there *stage) {
			shared := controller.ManagerOptions{Journal: here.plane.Journal()}
			here.run("left", shared, sets("way", "left"))
			there.run("right", shared, sets("way", "right"))
			here.create()
			time.Sleep(time.Second)
			there.create() // whose writes so have the revisions that the writes here had just before
			for range 30 {
				here.disturb()
				time.Sleep(500 * time.Millisecond)
				there.disturb()
				time.Sleep(500 * time.Millisecond)
			}
			report := here.plane.Journal().Report(it, 1000)
			if len(report.Loops) > 0 || len(here.warnings()) > 0 {
				t.Errorf("got loops %+v, want none", report.Loops)
			}
			alike := false
			controllers, wrote := map[string]string{}, map[object.Revision]string{}
			for _, run := range report.Runs {
				controllers[run.ID] = run.Controller
				for _, w := range run.Writes {
					alike = alike || wrote[w.Revision] != "" && wrote[w.Revision] != run.Controller
					wrote[w.Revision] = run.Controller
				}
				for _, before := range run.After {
					if controllers[before] != run.Controller {
						t.Errorf("got a run of %s caused by one of %q", run.Controller, controllers[before])
					}
				}
			}
			if !alike {
				t.Error("no two writes have the same revision, so the test is void")
			}
		})
	})
}

package controller_test

import (
	"fmt"
	"net/http"
	"testing"

	v1 "github.com/bowline-dev/bowline/examples/network/apis/samplecrd/v1"
)

// If the controller is stopped while it creates and removes networks, it reports no failure.
func TestStopDuringCreationReportsNothing(t *testing.T) {
	withFixture(t, func(w *fixture) {
		g := &fakeNeutron{}
		w.define()
		first := w.runNeutron(g)
		goes := w.declare("goes", "192.168.0.0/16", "192.168.0.1")
		waitIdle()
		g.setAnswers(func(q *http.Request) (*http.Response, error) { // accepts requests and does not answer
			<-q.Context().Done()
			return nil, q.Context().Err()
		})
		uids := []*v1.Network{goes}
		for n := range 10 {
			uids = append(uids, w.declare(fmt.Sprint("n", n), "192.168.0.0/16", "192.168.0.1"))
		}
		w.delete(v1.SchemeGroupVersion, "goes")
		waitIdle()
		first.stop()
		for _, n := range uids {
			if got := w.events(n.UID); len(got) > 1 || n != goes && len(got) > 0 {
				w.Errorf("%s has the events %q", n.Name, got)
			}
			if now := w.get(v1.SchemeGroupVersion, n.Name); n != goes && len(now.Status.Conditions) > 0 {
				w.Errorf("%s has the status %+v", n.Name, now.Status)
			}
		}
		g.setAnswers(nil)
		defer w.runNeutron(g).stop()
		waitIdle()
		if actual := g.networksBehind(w); len(actual) != 10 {
			w.Errorf("after the next start Neutron has %v", actual)
		}
	})
}

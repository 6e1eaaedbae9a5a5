package bowline_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline"
)

// TestForkHasOwnDefinitions checks that a plane and its fork read their shared objects by their own
// definitions at once, and that changing the definition in one does not end the watches of the other.
func TestForkHasOwnDefinitions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := tied(t, bowline.Options{Controllers: []string{bowline.NoControllers}})
		f := l.fork()
		ofPlane, ofFork := watchKnots(t, l), watchKnots(t, f)
		synctest.Wait()
		const before, after = `"loops":1`, `"strands":3`
		f.done("PATCH", definitionPath, `{"spec":{"versions":[{"name":"v1","served":true,"storage":true,
			"schema":{"openAPIV3Schema":{"type":"object","properties":{"strands":{"type":"integer","default":3}}}}}]}}`)
		for range 3 { // later rounds must not return the other's cached objects
			for _, path := range []string{knotsPath, knotsPath + "/reef",
				"/apis/example.com/v1/knots?fieldSelector=metadata.name%3Dreef"} {
				if got := l.done("GET", path, ""); !strings.Contains(got, before) || strings.Contains(got, after) {
					t.Errorf("the plane reads %s", got)
				}
				if got := f.done("GET", path, ""); strings.Contains(got, before) || !strings.Contains(got, after) {
					t.Errorf("the fork reads %s", got)
				}
			}
		}
		if events := <-ofFork + " " + <-ofFork; events != "ADDED " {
			t.Errorf("the fork's watch says %q, and does not end", events)
		}
		l.done("PATCH", knotsPath+"/reef", `{"metadata":{"labels":{"a":"b"}}}`)
		if events := <-ofPlane + " " + <-ofPlane; events != "ADDED MODIFIED" {
			t.Errorf("the plane's watch says %s", events)
		}
		l.done("DELETE", definitionPath, "")
		synctest.Wait()
		if code, _ := l.ask("GET", knotsPath, ""); code != http.StatusNotFound {
			t.Errorf("where the definition was deleted, knots answer %d", code)
		}
		if got := f.done("GET", knotsPath+"/reef", ""); !strings.Contains(got, after) ||
			strings.Contains(got, `"labels"`) {
			t.Errorf("where it was not, the knot is %s", got)
		}
	})
}

// watchKnots sends the types of a watch's events until the watch ends.
func watchKnots(t *testing.T, run *planeRun) <-chan string {
	w, err := run.dynamic.Resource(knots).Watch(t.Context(), metav1.ListOptions{})
	run.must(err)
	t.Cleanup(w.Stop)
	types := make(chan string, 100)
	go func() {
		defer close(types)
		for e := range w.ResultChan() {
			types <- string(e.Type)
		}
	}()
	return types
}

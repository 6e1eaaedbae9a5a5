package bowline_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/object"
)

// The test compares the needs with the table in docs/controllers.md, which TestControllersWatchAndWriteAsDocumented
// compares with the controllers' requests.
func TestControllersNeedWhatTheyWatch(t *testing.T) {
	t.Parallel()
	registry := kind.NewRegistry(builtin.Kinds(object.NewCache(0))...)
	for name, documented := range controllerRows(t) {
		var needed []string
		for _, need := range bowline.Needs[name] {
			needed = append(needed, need.Resource)
			if _, served := registry.Find(need); !served {
				t.Errorf("%s needs %v, which no kind has", name, need)
			}
		}
		watched := documented.watches
		if len(needed) == 0 && (slices.Contains(watched, anyResource) || slices.Equal(watched, []string{"namespaces"})) {
			continue // works on what is served
		}
		slices.Sort(needed)
		if !slices.Equal(needed, watched) {
			t.Errorf("%s needs %v, and watches %v", name, needed, watched)
		}
		for _, written := range documented.writes {
			resource, _, _ := strings.Cut(written, "/")
			if resource != "events" && !slices.Contains(needed, resource) {
				t.Errorf("%s writes %s, which is not in its needs", name, resource)
			}
		}
	}
}

// TestStartRejectsAPIsThatAreNeeded checks that Start fails, and closes its storage, if an API is off that a controller
// or the server needs.
func TestStartRejectsAPIsThatAreNeeded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		api, controllers []string
		want             string
	}{
		{[]string{"policy/v1=false"}, []string{"disruption"}, "disruption needs policy/v1/poddisruptionbudgets; add"},
		{[]string{"v1/persistentvolumes=false"}, nil, "pv-protection needs v1/persistentvolumes, "},
		{[]string{"v1=false"}, []string{bowline.NoControllers}, "v1/namespaces cannot be turned off, because"},
		{[]string{"boats.example/v1=true"}, nil, "unknown api groups boats.example/v1: known are"},
	} {
		storage := &onlyClosed{}
		_, err := bowline.Start(t.Context(), bowline.Options{API: c.api, Controllers: c.controllers, Storage: storage})
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, errClosed) {
			t.Errorf("%v with %v: got error %v, want %s and a closed storage", c.api, c.controllers, err, c.want)
		}
	}
	plane, err := bowline.Start(t.Context(), bowline.Options{
		API: []string{"policy/v1=false", "v1/persistentvolumes=false"},
		Controllers: []string{"*", "-disruption", "-scheduler", "-pv-protection",
			"-volumeattributesclass-protection-controller"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer plane.Close()
	_, err = plane.Fork(t.Context(), func(o *bowline.Options) { o.Controllers = []string{"scheduler"} })
	if err == nil || !strings.Contains(err.Error(), "scheduler needs policy/v1/poddisruptionbudgets") {
		t.Errorf("a fork with a controller that needs an API: got error %v", err)
	}
}

var errClosed = errors.New("closed")

// onlyClosed is a storage that Start closes without reading it.
type onlyClosed struct{ bowline.Storage }

func (*onlyClosed) Close() error { return errClosed }

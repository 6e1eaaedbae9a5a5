package bowline_test

import (
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/trial"
	"github.com/bowline-dev/bowline/node/simulated"
)

// The test runs each controller alone, as a separate client of the API, on a plane with objects that give
// every controller work. It compares the resources that each controller watches and writes with the table in
// docs/controllers.md.
func TestControllersWatchAndWriteAsDocumented(t *testing.T) {
	t.Parallel()
	sent := map[string]*requests{}
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		for _, name := range bowline.Controllers() {
			sent[name] = &requests{watched: map[string]bool{}, written: map[string]bool{}}
			runAlone(t, p.RESTConfig(), name, sent[name])
		}
		liveThrough(t, p)
	}, trial.Alone(), bowlinetest.Manage(func(m *controller.Manager) error {
		simulated.Add(m, simulated.Options{Nodes: 3})
		return nil
	}))
	rows := controllerRows(t)
	for name, r := range sent {
		watched, written := r.list()
		if documented := rows[name]; !slices.Equal(documented.watches, watched) || !agrees(documented.writes, written) {
			t.Errorf("docs/controllers.md says of %s\n%v and it is\n| %s | %s | %s |",
				name, documented, name, strings.Join(watched, ", "), strings.Join(written, ", "))
		}
		delete(rows, name)
	}
	for name := range rows {
		t.Errorf("docs/controllers.md has %q, which is no controller", name)
	}
}

// anyResource is the entry in the table that stands for all resources, including custom ones.
const anyResource = "every resource"

// agrees reports whether the writes in the table match the recorded ones. If the table has the entry every,
// the recorded writes must contain the other entries and at least one more. Events may be missing from the
// recorded writes, since some are caused only by chance, for example by conflicts.
func agrees(documented, written []string) bool {
	if !slices.Contains(written, "events") {
		documented = slices.DeleteFunc(documented, func(resource string) bool { return resource == "events" })
	}
	if len(documented) == 0 || documented[0] != anyResource {
		return slices.Equal(documented, written)
	}
	for _, named := range documented[1:] {
		if !slices.Contains(written, named) {
			return false
		}
	}
	return len(written) > len(documented[1:])
}

// row holds the resources that the table lists for a controller.
type row struct{ watches, writes []string }

// controllerRows reads the table and returns its rows by controller.
func controllerRows(t *testing.T) map[string]row {
	rows := map[string]row{}
	for line := range strings.Lines(read(t, "docs/controllers.md")) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || strings.Contains(line, "---") || strings.HasPrefix(line, "| controller") {
			continue
		}
		names := func(cell int) []string { return strings.Split(strings.TrimSpace(cells[cell]), ", ") }
		rows[strings.TrimSpace(cells[1])] = row{names(2), names(3)}
	}
	return rows
}

// runAlone runs one controller until the test ends, and records its requests in asked.
func runAlone(t *testing.T, config *rest.Config, name string, sent *requests) {
	copied := rest.CopyConfig(config)
	copied.Wrap(func(next http.RoundTripper) http.RoundTripper { return recorder{next, sent} })
	m, err := controller.NewManager(copied, controller.ManagerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bowline.AddController(name, m)
	var running sync.WaitGroup
	running.Go(func() {
		if err := m.Run(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
	t.Cleanup(running.Wait)
}

// requests records the resources that a controller has watched and written.
type requests struct {
	mu               sync.Mutex
	watched, written map[string]bool
}

// list returns the sorted resources. More than twenty watched resources are returned as every.
func (r *requests) list() (watched, written []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	watched, written = slices.Sorted(maps.Keys(r.watched)), slices.Sorted(maps.Keys(r.written))
	if len(watched) > 20 {
		watched = []string{anyResource}
	}
	return watched, written
}

// recorder is a transport that records watches and writes.
type recorder struct {
	next http.RoundTripper
	sent *requests
}

var resourcePath = regexp.MustCompile(`^/(?:api|apis/[^/]+)/[^/]+/(?:namespaces/[^/]+/)?([a-z]+)(?:/[^/]+(/[a-z]+)?)?$`)

var namespacePath = regexp.MustCompile(`^/api/v1/(namespaces)/[^/]+(/finalize|/status)?$`)

func (r recorder) RoundTrip(q *http.Request) (*http.Response, error) {
	path := namespacePath.FindStringSubmatch(q.URL.Path)
	if path == nil {
		path = resourcePath.FindStringSubmatch(q.URL.Path)
	}
	r.sent.mu.Lock()
	switch {
	case path == nil:
	case q.URL.Query().Get("watch") == "true" || q.URL.Query().Get("watch") == "1":
		r.sent.watched[path[1]] = true
	case q.Method != http.MethodGet:
		r.sent.written[path[1]+path[2]] = true
	}
	r.sent.mu.Unlock()
	return r.next.RoundTrip(q)
}

// liveThrough creates, changes and deletes objects of all controllers.
func liveThrough(t *testing.T, p *bowlinetest.Plane) {
	manifest, err := os.ReadFile("testdata/controllers/world.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p.Apply(t, string(manifest))
	time.Sleep(3 * time.Minute)

	objects := dynamic.NewForConfigOrDie(p.RESTConfig())
	in := func(group, resource string) dynamic.ResourceInterface {
		return objects.Resource(schema.GroupVersionResource{Group: group, Version: "v1",
			Resource: resource}).Namespace("default")
	}
	patch := func(group, resource, name, patch string) {
		if _, err := in(group, resource).Patch(t.Context(), name, types.MergePatchType, []byte(patch),
			metav1.PatchOptions{}); err != nil {
			t.Error(err)
		}
	}
	remove := func(of dynamic.ResourceInterface, name string, how metav1.DeletionPropagation) {
		if err := of.Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &how}); err != nil {
			t.Error(err)
		}
	}
	newImage := `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"new:2"}]}}}}`
	for _, resource := range []string{"deployments", "statefulsets", "daemonsets"} {
		patch("apps", resource, map[string]string{"deployments": "web", "statefulsets": "db",
			"daemonsets": "agent"}[resource], newImage)
	}
	time.Sleep(3 * time.Minute)
	patch("apps", "deployments", "web", `{"metadata":{"annotations":{"deprecated.deployment.rollback.to":"1"}}}`)
	patch("apps", "replicasets", "bare", `{"spec":{"replicas":0}}`)
	patch("", "replicationcontrollers", "old", `{"spec":{"replicas":0}}`)
	patch("apps", "statefulsets", "db", `{"spec":{"replicas":1}}`)
	remove(in("", "services"), "shortlived", metav1.DeletePropagationBackground)
	remove(in("", "secrets"), "robot-token", metav1.DeletePropagationBackground)
	time.Sleep(3 * time.Minute)

	nodes := objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: "nodes"})
	dead := []byte(`{"metadata":{"annotations":{"` + simulated.Prefix + `dead":"true"}}}`)
	if _, err := nodes.Patch(t.Context(), "node-2", types.MergePatchType, dead, metav1.PatchOptions{}); err != nil {
		t.Error(err)
	}
	time.Sleep(10 * time.Minute)
	remove(nodes, "node-2", metav1.DeletePropagationBackground)
	remove(in("apps", "deployments"), "web", metav1.DeletePropagationForeground)
	remove(in("apps", "statefulsets"), "db", metav1.DeletePropagationOrphan)
	remove(objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}), "doomed",
		metav1.DeletePropagationBackground)
	remove(objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumes"}), "disk",
		metav1.DeletePropagationBackground)
	remove(objects.Resource(schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1",
		Resource: "volumeattributesclasses"}), "fast", metav1.DeletePropagationBackground)
	time.Sleep(10 * time.Minute)
}

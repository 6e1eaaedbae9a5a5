package bowline_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
)

// fork starts a fork of l's plane.
func (l *planeRun) fork(change ...func(*bowline.Options)) *planeRun {
	l.Helper()
	plane, err := l.plane.Fork(l.Context(), change...)
	l.must(err)
	l.Cleanup(func() { plane.Close() })
	config := plane.RESTConfig()
	return &planeRun{l.T, plane, kubernetes.NewForConfigOrDie(config), dynamic.NewForConfigOrDie(config)}
}

// ask sends a request and returns the status code and body, or 0 and the error. The body of a PATCH is a
// merge patch.
func (l *planeRun) ask(method, path, body string) (int, string) {
	config := l.plane.RESTConfig()
	req, err := http.NewRequestWithContext(l.Context(), method, config.Host+path, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	req.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	resp, err := config.Transport.RoundTrip(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(data)
}

// done is ask for requests that must succeed.
func (l *planeRun) done(method, path, body string) string {
	l.Helper()
	code, answer := l.ask(method, path, body)
	if code/100 != 2 {
		l.Fatalf("%s %s: %d %s", method, path, code, answer)
	}
	return answer
}

const (
	knotsPath      = "/apis/example.com/v1/namespaces/default/knots"
	definitionPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/knots.example.com"
	mapsPath       = "/api/v1/namespaces/default/configmaps"
)

// tied starts a plane with custom resources of kind Knot.
func tied(t *testing.T, o bowline.Options) *planeRun {
	t.Helper()
	l := begin(t, o)
	l.define("Knot", "knots")
	_, err := l.dynamic.Resource(knots).Namespace("default").Create(t.Context(), knot("reef"), metav1.CreateOptions{})
	l.must(err)
	l.done("POST", mapsPath, `{"metadata":{"name":"a"},"data":{"k":"1"}}`)
	return l
}

var everything = []string{"/api/v1/namespaces", "/api/v1/configmaps", "/api/v1/services",
	"/apis/scheduling.k8s.io/v1/priorityclasses",
	"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/apis/example.com/v1/knots"}

// TestForkHasStateOfPlane checks that a fork returns the same bytes, does not restore deleted built-in
// objects, and continues to work after the plane is closed.
func TestForkHasStateOfPlane(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := tied(t, bowline.Options{Controllers: []string{bowline.NoControllers},
			ID: "6c6f7665-6c79-4b6e-9f74-73686f6c6421"})
		l.done("DELETE", "/api/v1/namespaces/default/services/kubernetes", "")
		f := l.fork()
		for _, path := range append(everything, "/apis", "/openapi/v2") {
			_, want := l.ask("GET", path, "")
			_, got := f.ask("GET", path, "")
			if want, got := noRevision(want), noRevision(got); got != want {
				t.Errorf("%s of a fork is\n%s\nnot\n%s", path, got, want)
			}
		}
		for _, resource := range []schema.GroupVersionResource{knots, {Version: "v1", Resource: "configmaps"}} {
			original, err := l.plane.Source().List(t.Context(), resource, client.Options{})
			l.must(err)
			forked, err := f.plane.Source().List(t.Context(), resource, client.Options{})
			l.must(err)
			if len(original.Items) != 1 || len(forked.Items) != 1 || original.Items[0] != forked.Items[0] {
				t.Errorf("%s are not shared: %v, %v", resource.Resource, original.Items, forked.Items)
			}
		}
		if got := f.done("POST", knotsPath,
			`{"apiVersion":"example.com/v1","kind":"Knot","metadata":{"name":"b"}}`); !strings.Contains(got,
			`"loops":1`) {
			t.Errorf("a knot of the fork is %s", got)
		}
		l.end()
		ofFork, err := send(t.Context(), f.plane)
		f.must(err)
		for i, answer := range ofFork {
			if code := regexp.MustCompile(`: \d+`).FindString(answer); code == ": 500" || code == ": 503" {
				t.Errorf("request %d of the story: %s", i, answer)
			}
		}
	})
}

// noRevision removes the revision of the list itself.
func noRevision(list string) string {
	return regexp.MustCompile(`"metadata":\{("continue":"",)?"resourceVersion":"\d+"\},"items"`).ReplaceAllString(list,
		`"items"`)
}

// TestForkAndPlaneAcceptConcurrentWrites lets many clients write to and read from a plane and its fork
// concurrently, and checks that each has its own changes only.
func TestForkAndPlaneAcceptConcurrentWrites(t *testing.T) {
	t.Parallel()
	l := tied(t, bowline.Options{Controllers: []string{bowline.NoControllers}})
	for i := range 50 {
		l.done("POST", mapsPath, fmt.Sprintf(`{"metadata":{"name":"m-%d"},"data":{"k":"before"}}`, i))
		l.done("POST", knotsPath,
			fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Knot","metadata":{"name":"m-%d"}}`, i))
	}
	first := l.fork()
	all := map[string]*planeRun{"the plane": l, "a fork": first, "another fork": l.fork(),
		"a fork of a fork": first.fork()}
	var group errgroup.Group
	for name, side := range all {
		for _, path := range []string{mapsPath, knotsPath} {
			group.Go(func() error {
				for i := range 50 {
					method := "PATCH"
					if i%5 == 0 {
						method = "DELETE"
					}
					code, answer := side.ask(method, fmt.Sprintf("%s/m-%d", path, i),
						fmt.Sprintf(`{"metadata":{"annotations":{"by":%q}}}`, name))
					if code == http.StatusOK {
						code, answer = side.ask("GET", path+"?limit=10", "")
					}
					if code != http.StatusOK {
						return fmt.Errorf("%s of %s/m-%d in %s: %d %s", method, path, i, name, code, answer)
					}
				}
				return nil
			})
		}
	}
	l.must(group.Wait())
	for name, side := range all {
		for _, path := range []string{mapsPath, knotsPath} {
			list := side.done("GET", path, "")
			if got := strings.Count(list, fmt.Sprintf(`"by":%q`, name)); got != 40 ||
				strings.Count(list, `"by":`) != 40 || strings.Contains(list, `"m-5"`) {
				t.Errorf("of %s, %s has %d of its 40 changes: %s", path, name, got, list)
			}
		}
	}
}

// TestForkOutlivesItsPlane closes a plane and its forks in every order. It is not parallel because it
// examines all goroutines.
func TestForkOutlivesItsPlane(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		before := goleak.IgnoreCurrent()
		l := tied(t, bowline.Options{})
		f := l.fork(func(o *bowline.Options) { o.Controllers = nil })
		all := []*planeRun{l, f, f.fork()}
		for n, i := range order {
			all[i].end()
			if _, err := all[i].plane.Fork(t.Context()); !errors.Is(err, store.ErrClosed) {
				t.Errorf("a plane that is closed is forked: %v", err)
			}
			for _, j := range order[n+1:] {
				all[j].done("PATCH", mapsPath+"/a", fmt.Sprintf(`{"data":{"k":"%d-%d"}}`, n, j))
				all[j].done("PATCH", knotsPath+"/reef", fmt.Sprintf(`{"loops":%d}`, n+j))
				if got := all[j].done("GET", mapsPath+"/a", ""); !strings.Contains(got, fmt.Sprintf(`"%d-%d"`, n, j)) {
					t.Errorf("with %v closed: %s", order[:n+1], got)
				}
			}
		}
		if err := goleak.Find(before); err != nil {
			t.Errorf("closed in the order %v: %v", order, err)
		}
	}
}

// TestForkRunsOnlySelectedControllers checks that a fork runs controllers and a socket only if they are set.
func TestForkRunsOnlySelectedControllers(t *testing.T) {
	t.Parallel()
	l := begin(t, bowline.Options{Listen: "127.0.0.1:0"})
	_, err := l.typed.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}}, metav1.CreateOptions{})
	l.must(err)
	still := l.fork()
	busy := l.fork(func(o *bowline.Options) { o.Controllers, o.Listen = []string{"*"}, "127.0.0.1:0" })
	if still.plane.Addr() != "" || busy.plane.Addr() == "" || busy.plane.Addr() == l.plane.Addr() {
		t.Errorf("the plane is at %q, its forks are at %q and %q", l.plane.Addr(), still.plane.Addr(),
			busy.plane.Addr())
	}
	config, err := busy.plane.SocketConfig()
	l.must(err)
	clients := kubernetes.NewForConfigOrDie(config)
	watch, err := clients.CoreV1().Namespaces().Watch(t.Context(),
		metav1.ListOptions{FieldSelector: "metadata.name=ns"})
	l.must(err)
	defer watch.Stop()
	l.must(clients.CoreV1().Namespaces().Delete(t.Context(), "ns", metav1.DeleteOptions{}))
	for e := range watch.ResultChan() {
		if e.Type == "DELETED" {
			break
		}
	}
	l.must(still.typed.CoreV1().Namespaces().Delete(t.Context(), "ns", metav1.DeleteOptions{}))
	ns, err := still.typed.CoreV1().Namespaces().Get(t.Context(), "ns", metav1.GetOptions{})
	if err != nil || ns.Status.Phase != corev1.NamespaceTerminating {
		t.Errorf("without controllers, a namespace that is deleted is %v, %v", ns.Status.Phase, err)
	}
}

func TestForkRejectsRevisionsOfPlane(t *testing.T) {
	t.Parallel()
	l := tied(t, bowline.Options{Controllers: []string{bowline.NoControllers}})
	list, err := l.typed.CoreV1().ConfigMaps("").List(t.Context(), metav1.ListOptions{})
	l.must(err)
	f := l.fork()
	old := metav1.ListOptions{ResourceVersion: list.ResourceVersion,
		ResourceVersionMatch: metav1.ResourceVersionMatchExact}
	if _, err := f.typed.CoreV1().ConfigMaps("").List(t.Context(), old); !apierrors.IsResourceExpired(err) {
		t.Errorf("a list of the plane's revision: %v", err)
	}
	watch, err := f.typed.CoreV1().ConfigMaps("").Watch(t.Context(),
		metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	f.must(err)
	defer watch.Stop()
	if e := <-watch.ResultChan(); !apierrors.IsResourceExpired(apierrors.FromObject(e.Object)) {
		t.Errorf("a watch after the plane's revision: %v", e)
	}
	// An object read from the plane can be written to the fork if the fork has not changed it.
	f.done("PATCH", mapsPath+"/a", fmt.Sprintf(`{"metadata":{"resourceVersion":%q},"data":{"k":"2"}}`,
		list.Items[0].ResourceVersion))
	if code, answer := f.ask("PATCH", mapsPath+"/a",
		fmt.Sprintf(`{"metadata":{"resourceVersion":%q}}`,
			list.Items[0].ResourceVersion)); code != http.StatusConflict {
		t.Errorf("and not twice: %d %s", code, answer)
	}
}

// counting is a plugin that counts the creations of ConfigMaps.
type counting struct{ requested chan string }

func (counting) Name() string { return "Counting" }
func (counting) Handles(op admission.Operation, r schema.GroupResource, _ string) bool {
	return op == admission.Create && r.Resource == "configmaps"
}
func (c counting) Admit(_ context.Context, a *admission.Attributes, _ admission.Reader) error {
	c.requested <- a.Object.GetName()
	return nil
}
func (counting) Validate(context.Context, *admission.Attributes, admission.Reader) error { return nil }

func TestForkInheritsOptions(t *testing.T) {
	t.Parallel()
	plugin := counting{make(chan string, 10)}
	l := begin(t, bowline.Options{Controllers: []string{bowline.NoControllers}, Plugins: []admission.Plugin{plugin}})
	f := l.fork()
	f.done("POST", mapsPath, `{"metadata":{"name":"in-the-fork"}}`)
	if name := <-plugin.requested; name != "in-the-fork" {
		t.Errorf("the plugin was called for %s", name)
	}
	for want, change := range map[string]func(*bowline.Options){
		"shares memory with it":        func(o *bowline.Options) { o.Storage = memory.New() },
		`unknown controller "nothing"`: func(o *bowline.Options) { o.Controllers = []string{"nothing"} },
		"address":                      func(o *bowline.Options) { o.Listen = "nowhere" },
	} {
		if _, err := l.plane.Fork(t.Context(), change); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("an error with %q is %v", want, err)
		}
	}
}

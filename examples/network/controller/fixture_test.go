package controller_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
	v1 "github.com/bowline-dev/bowline/examples/network/apis/samplecrd/v1"
	"github.com/bowline-dev/bowline/examples/network/controller"
	"github.com/bowline-dev/bowline/examples/network/provider/record"
)

const planeID = "plane"

// fixture is a control plane with a client and with real networks that are records in memory. It runs in a
// synctest bubble, so that the test can wait until all goroutines are idle, and days pass at once.
type fixture struct {
	*testing.T
	plane  *bowline.Plane
	client *client.Client
	files  *record.Memory
}

// withFixture runs a test with a new fixture.
func withFixture(t *testing.T, test func(w *fixture)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		plane, err := bowline.Start(t.Context(), bowline.Options{Controllers: []string{bowline.NoControllers}})
		if err != nil {
			t.Fatal(err)
		}
		defer plane.Close()
		c, err := client.New(plane.RESTConfig())
		if err != nil {
			t.Fatal(err)
		}
		test(&fixture{T: t, plane: plane, client: c, files: &record.Memory{}})
	})
}

// running is a running controller.
type running struct {
	stop func()
}

// run starts the controller; a nil config or nil files mean those of the fixture.
func (w *fixture) run(config *rest.Config, files record.FS) running {
	w.Helper()
	if config == nil {
		config = w.plane.RESTConfig()
	}
	if files == nil {
		files = w.files
	}
	p, err := record.New(planeID, files)
	if err != nil {
		w.Fatal(err)
	}
	loop, err := controller.New(controller.Options{Config: config, Provider: p, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		loop.Run(ctx)
	}()
	return running{stop: func() { cancel(); <-done }}
}

// waitIdle waits until the controller is idle, including early retries.
func waitIdle() {
	time.Sleep(5 * time.Second)
	synctest.Wait()
}

func (w *fixture) networks(gv schema.GroupVersion) client.Resource[*v1.Network] {
	return client.Of[*v1.Network](w.client, gv.WithResource(v1.Resource))
}

// apply creates the object of a manifest of the example, in the namespace default if it is a Network.
func (w *fixture) apply(path ...string) *unstructured.Unstructured {
	w.Helper()
	return w.create(w.manifest(path...))
}

func (w *fixture) manifest(path ...string) *unstructured.Unstructured {
	w.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{".."}, path...)...))
	if err != nil {
		w.Fatal(err)
	}
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, &obj.Object); err != nil {
		w.Fatal(err)
	}
	return obj
}

func (w *fixture) create(obj *unstructured.Unstructured) *unstructured.Unstructured {
	w.Helper()
	resource := "customresourcedefinitions"
	if obj.GetKind() == v1.Kind {
		obj.SetNamespace("default")
		resource = v1.Resource
	}
	gvr := obj.GroupVersionKind().GroupVersion().WithResource(resource)
	made, err := client.Of[*unstructured.Unstructured](w.client, gvr).Create(w.Context(), obj, metav1.CreateOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return made
}

// define creates the definition of the first group, with a schema.
func (w *fixture) define() { w.apply("crd", "network.yaml") }

// declare creates a Network of the first group.
func (w *fixture) declare(name, cidr, gateway string) *v1.Network {
	w.Helper()
	n := &v1.Network{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       v1.NetworkSpec{CIDR: cidr, Gateway: gateway},
	}
	n, err := w.networks(v1.SchemeGroupVersion).Create(w.Context(), n, metav1.CreateOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return n
}

func (w *fixture) patch(gv schema.GroupVersion, name, patch string) *v1.Network {
	w.Helper()
	n, err := w.networks(gv).Patch(w.Context(), "default", name, "", types.MergePatchType, []byte(patch),
		metav1.PatchOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return n
}

func (w *fixture) get(gv schema.GroupVersion, name string) *v1.Network {
	w.Helper()
	n, err := w.networks(gv).Get(w.Context(), "default", name)
	if err != nil {
		w.Fatal(err)
	}
	return n
}

func (w *fixture) delete(gv schema.GroupVersion, name string) {
	w.Helper()
	if err := w.networks(gv).Delete(w.Context(), "default", name, metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
}

// expectReady checks the Ready condition, and returns its message.
func (w *fixture) expectReady(n *v1.Network, status metav1.ConditionStatus, reason string) string {
	w.Helper()
	c := meta.FindStatusCondition(n.Status.Conditions, v1.ConditionReady)
	if c == nil || c.Status != status || c.Reason != reason {
		w.Fatalf("the Ready condition of %s: got %+v, want %s, %s", n.Name, c, status, reason)
	}
	return c.Message
}

// records returns the names of the files without the prefix and suffix that all of this plane's files have.
func (w *fixture) records() []string {
	w.Helper()
	names, err := w.files.List()
	if err != nil {
		w.Fatal(err)
	}
	for i, name := range names {
		names[i] = strings.TrimSuffix(strings.TrimPrefix(name, "bowline."+planeID+"."), ".json")
	}
	slices.Sort(names)
	return names
}

// expectNetworks checks that there are real networks for exactly these UIDs.
func (w *fixture) expectNetworks(uids ...types.UID) {
	w.Helper()
	var want []string
	for _, uid := range uids {
		want = append(want, string(uid))
	}
	slices.Sort(want)
	if got := w.records(); !slices.Equal(got, want) {
		w.Errorf("real networks: got %q, want %q", got, want)
	}
}

func file(uid types.UID) string { return "bowline." + planeID + "." + string(uid) + ".json" }

// expectRecord checks that a real network's record contains a text.
func (w *fixture) expectRecord(uid types.UID, text string) {
	w.Helper()
	data, err := w.files.Read(file(uid))
	if err != nil || !strings.Contains(string(data), text) {
		w.Errorf("the record of the network: got %s, %v; want it to contain %s", data, err, text)
	}
}

// events returns the type and reason of all events about an object, in order.
func (w *fixture) events(uid types.UID) []string {
	w.Helper()
	resource := client.Of[*corev1.Event](w.client, corev1.SchemeGroupVersion.WithResource("events"))
	page, err := resource.List(w.Context(), "default", metav1.ListOptions{})
	if err != nil {
		w.Fatal(err)
	}
	slices.SortFunc(page.Items, func(a, b *corev1.Event) int { return a.FirstTimestamp.Compare(b.FirstTimestamp.Time) })
	var found []string
	for _, e := range page.Items {
		if e.InvolvedObject.UID == uid {
			found = append(found, e.Type+" "+e.Reason)
		}
	}
	return found
}

// undefine deletes a definition.
func (w *fixture) undefine(name string) {
	w.Helper()
	if err := w.definitions().Delete(w.Context(), "", name, metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
}

// redefine replaces a definition with another one of the same name.
func (w *fixture) redefine(path ...string) {
	w.Helper()
	obj := w.manifest(path...)
	now, err := w.definitions().Get(w.Context(), "", obj.GetName())
	if err != nil {
		w.Fatal(err)
	}
	obj.SetResourceVersion(now.GetResourceVersion())
	if _, err := w.definitions().Update(w.Context(), obj, metav1.UpdateOptions{}); err != nil {
		w.Fatal(err)
	}
}

func (w *fixture) definitions() client.Resource[*unstructured.Unstructured] {
	gvr := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"}
	return client.Of[*unstructured.Unstructured](w.client, gvr)
}

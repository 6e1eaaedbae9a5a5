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

// world is a control plane with a user and networks that are records in memory. It lives in a bubble, so that settling
// means that nothing is left to do, and days pass at once.
type world struct {
	*testing.T
	plane  *bowline.Plane
	client *client.Client
	files  *record.Memory
}

// inWorld runs a test in a world of its own.
func inWorld(t *testing.T, test func(w *world)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		plane, err := bowline.Start(t.Context(), bowline.Options{Controllers: []string{}})
		if err != nil {
			t.Fatal(err)
		}
		defer plane.Close()
		c, err := client.New(plane.RESTConfig())
		if err != nil {
			t.Fatal(err)
		}
		test(&world{T: t, plane: plane, client: c, files: &record.Memory{}})
	})
}

// running is a controller that runs until it is stopped.
type running struct {
	stop func()
}

// run starts the controller over a connection of its own; the zero values of config and files mean the world's.
func (w *world) run(config *rest.Config, files record.FS) running {
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

// settle lets everything happen that is to happen soon, retries included.
func settle() {
	time.Sleep(5 * time.Second)
	synctest.Wait()
}

func (w *world) networks(gv schema.GroupVersion) client.Resource[*v1.Network] {
	return client.Of[*v1.Network](w.client, gv.WithResource(v1.Resource))
}

// apply creates what a manifest of the example holds, in the namespace default unless it is cluster-scoped.
func (w *world) apply(path ...string) *unstructured.Unstructured {
	w.Helper()
	return w.create(w.manifest(path...))
}

func (w *world) manifest(path ...string) *unstructured.Unstructured {
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

func (w *world) create(obj *unstructured.Unstructured) *unstructured.Unstructured {
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

// define makes the kind known, with a schema.
func (w *world) define() { w.apply("crd", "network.yaml") }

// declare creates a Network of the first group.
func (w *world) declare(name, cidr, gateway string) *v1.Network {
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

func (w *world) patch(gv schema.GroupVersion, name, patch string) *v1.Network {
	w.Helper()
	n, err := w.networks(gv).Patch(w.Context(), "default", name, "", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return n
}

func (w *world) get(gv schema.GroupVersion, name string) *v1.Network {
	w.Helper()
	n, err := w.networks(gv).Get(w.Context(), "default", name)
	if err != nil {
		w.Fatal(err)
	}
	return n
}

func (w *world) delete(gv schema.GroupVersion, name string) {
	w.Helper()
	if err := w.networks(gv).Delete(w.Context(), "default", name, metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
}

// isReady checks the Ready condition, and returns its message.
func (w *world) isReady(n *v1.Network, status metav1.ConditionStatus, reason string) string {
	w.Helper()
	c := meta.FindStatusCondition(n.Status.Conditions, v1.ConditionReady)
	if c == nil || c.Status != status || c.Reason != reason {
		w.Fatalf("Ready of %s is %+v, want %s, %s", n.Name, c, status, reason)
	}
	return c.Message
}

// records are the names of the files, without what all of this plane's have.
func (w *world) records() []string {
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

// are checks which real networks there are.
func (w *world) are(uids ...types.UID) {
	w.Helper()
	var want []string
	for _, uid := range uids {
		want = append(want, string(uid))
	}
	slices.Sort(want)
	if got := w.records(); !slices.Equal(got, want) {
		w.Errorf("there are real networks for %q, want %q", got, want)
	}
}

func file(uid types.UID) string { return "bowline." + planeID + "." + string(uid) + ".json" }

// holds checks that a real network's record mentions a text.
func (w *world) holds(uid types.UID, text string) {
	w.Helper()
	data, err := w.files.Read(file(uid))
	if err != nil || !strings.Contains(string(data), text) {
		w.Errorf("the real network is %s, %v; want it to mention %s", data, err, text)
	}
}

// events are type and reason of all events about an object, in order.
func (w *world) events(uid types.UID) []string {
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
func (w *world) undefine(name string) {
	w.Helper()
	if err := w.definitions().Delete(w.Context(), "", name, metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
}

// redefine replaces a definition by another of the same name.
func (w *world) redefine(path ...string) {
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

func (w *world) definitions() client.Resource[*unstructured.Unstructured] {
	gvr := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	return client.Of[*unstructured.Unstructured](w.client, gvr)
}

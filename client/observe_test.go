package client_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/object"
)

// startPlane starts a server in this process.
func startPlane(t *testing.T) *bowline.Plane {
	t.Helper()
	plane, err := bowline.Start(t.Context(), bowline.Options{Controllers: []string{bowline.NoControllers}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { plane.Close() })
	return plane
}

// written returns a context whose writes are appended to the slice.
func written(t *testing.T) (context.Context, *[]client.Write) {
	var writes []client.Write
	return client.Observe(t.Context(), func(w client.Write) { writes = append(writes, w) }), &writes
}

func revisionOf(t *testing.T, obj metav1.Object) object.Revision {
	t.Helper()
	revision, err := object.ParseRevision(obj.GetResourceVersion())
	if err != nil {
		t.Fatal(err)
	}
	return revision
}

// anywhere ignores the fields that TestObserveReportsServerAndDeletions checks.
var anywhere = cmpopts.IgnoreFields(client.Write{}, "Server", "Labels")

// The test uses two servers in one process, and objects with and without finalizers.
func TestObserveReportsServerAndDeletions(t *testing.T) {
	t.Parallel()
	plane, other := startPlane(t), startPlane(t)
	for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		config := client.Observed(plane.RESTConfig())
		config.ContentType = contentType
		maps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
		ctx, writes := written(t)
		obj, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Name: "a", Finalizers: []string{"example.com/held"}, Labels: map[string]string{"k": "v"}}},
			metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := maps.Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := maps.Patch(ctx, "a", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`),
			metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := maps.Delete(ctx, "a", metav1.DeleteOptions{}); err == nil {
			t.Fatal("the object still exists")
		}
		for k, deleted := range []bool{false, false, true, false} {
			w := (*writes)[k]
			if w.Gone != deleted || k < 3 && (w.UID != obj.UID || w.Labels["k"] != "v") {
				t.Errorf("%s: got write %d %+v", contentType, k, w)
			}
		}
		here, err := client.New(plane.RESTConfig())
		if err != nil {
			t.Fatal(err)
		}
		remote, err := client.New(other.RESTConfig())
		if err != nil {
			t.Fatal(err)
		}
		if w := (*writes)[0]; w.Server != here.Server() || w.Server == remote.Server() {
			t.Errorf("got server %q; the server is %q, the other %q", w.Server, here.Server(), remote.Server())
		}
	}
}

// The typed client uses protobuf if the config requests it, and JSON otherwise.
func TestObserveReportsTypedWrites(t *testing.T) {
	t.Parallel()
	plane := startPlane(t)
	for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		t.Run(contentType, func(t *testing.T) {
			config := client.Observed(plane.RESTConfig())
			config.ContentType = contentType
			maps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
			ctx, writes := written(t)
			var want []client.Write
			expect := func(verb string, obj *corev1.ConfigMap, err error, status int) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
				want = append(want, client.Write{Verb: verb, Resource: configmaps, Namespace: "default", Name: obj.Name,
					UID:      obj.UID,
					Revision: revisionOf(t, obj), Status: status})
			}
			obj, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "a-"}},
				metav1.CreateOptions{})
			expect("create", obj, err, 201)
			obj.Data = map[string]string{"k": "v"}
			obj, err = maps.Update(ctx, obj, metav1.UpdateOptions{})
			expect("update", obj, err, 200)
			obj, err = maps.Patch(ctx, obj.Name, types.MergePatchType, []byte(`{"data":{"k":"w"}}`),
				metav1.PatchOptions{})
			expect("patch", obj, err, 200)
			obj, err = maps.Apply(ctx, applycorev1.ConfigMap(obj.Name, "default").WithData(map[string]string{"l": "x"}),
				metav1.ApplyOptions{FieldManager: "me"})
			expect("apply", obj, err, 200)
			if _, err := maps.Get(ctx, obj.Name, metav1.GetOptions{}); err != nil {
				t.Fatal(err)
			}
			if _, err := maps.Update(ctx, obj, metav1.UpdateOptions{DryRun: []string{"All"}}); err != nil {
				t.Fatal(err)
			}
			if err := maps.Delete(ctx, obj.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			want = append(want, client.Write{
				Verb: "delete", Resource: configmaps, Namespace: "default", Name: obj.Name, UID: obj.UID, Gone: true,
				Status: 200,
			})
			if err := maps.DeleteCollection(ctx, metav1.DeleteOptions{},
				metav1.ListOptions{LabelSelector: "no=such"}); err != nil {
				t.Fatal(err)
			}
			want = append(want, client.Write{Verb: "deletecollection", Resource: configmaps, Namespace: "default",
				Status: 200})
			if diff := cmp.Diff(want, *writes, anywhere); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestObserveReportsFailures(t *testing.T) {
	t.Parallel()
	plane := startPlane(t)
	config := client.Observed(plane.RESTConfig())
	config.ContentType = runtime.ContentTypeProtobuf
	maps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
	ctx, writes := written(t)
	a := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	obj, err := maps.Create(t.Context(), a, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := maps.Create(ctx, a, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Fatalf("got %v, want the whole response", err)
	}
	obj.ResourceVersion = "1"
	if _, err := maps.Update(ctx, obj, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Fatal(err)
	}
	config.Wrap(func(http.RoundTripper) http.RoundTripper { return broken{} })
	config = client.Observed(config)
	if _, err := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default").Create(ctx, a,
		metav1.CreateOptions{}); err == nil {
		t.Fatal("got no error of a broken transport")
	}
	if len(*writes) != 3 {
		t.Fatalf("got %d writes: %+v", len(*writes), *writes)
	}
	for i, want := range []struct {
		status int
		err    string
	}{{409, `configmaps "a" already exists`}, {409, "the object has been modified"}, {0, "pulled out"}} {
		w := (*writes)[i]
		if w.Name != "a" || w.Status != want.status || !w.Failed() || !strings.Contains(w.Err, want.err) ||
			w.Revision != 0 {
			t.Errorf("write %d: got %+v, want %+v", i, w, want)
		}
	}
}

// broken is a transport without responses.
type broken struct{}

func (broken) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("the cable is pulled out")
}

func TestObserveReportsSubresourcesAndClusterScope(t *testing.T) {
	t.Parallel()
	plane := startPlane(t)
	clients := kubernetes.NewForConfigOrDie(client.Observed(plane.RESTConfig()))
	ctx, writes := written(t)
	ns, err := clients.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "mine"}},
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ns, err = clients.CoreV1().Namespaces().UpdateStatus(ctx, ns, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	one := int32(1)
	labels := map[string]string{"app": "a"}
	deployment, err := clients.AppsV1().Deployments("mine").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "d"},
		Spec: appsv1.DeploymentSpec{Replicas: &one, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scale, err := clients.AppsV1().Deployments("mine").UpdateScale(ctx, "d", &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: "d", Namespace: "mine"}, Spec: autoscalingv1.ScaleSpec{Replicas: 3}},
		metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	namespaces := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	want := []client.Write{
		{Verb: "create", Resource: namespaces, Name: "mine", UID: ns.UID, Status: 201, Revision: (*writes)[0].Revision},
		{Verb: "update", Resource: namespaces, Name: "mine", Subresource: "status", UID: ns.UID, Status: 200,
			Revision: revisionOf(t, ns)},
		{Verb: "update", Resource: appsv1.SchemeGroupVersion.WithResource("deployments"), Namespace: "mine", Name: "d",
			Subresource: "scale",
			UID:         deployment.UID, Status: 200, Revision: revisionOf(t, scale)},
	}
	if diff := cmp.Diff(want, *writes, anywhere); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

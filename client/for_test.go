package client_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	apiserverinternalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	applyappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/bowline-dev/bowline/client"
)

func which[T client.Object](t *testing.T, c *client.Client) string {
	t.Helper()
	resource, err := client.ResourceOf(t.Context(), client.For[T](c))
	if err != nil {
		return err.Error()
	}
	return strings.TrimPrefix(resource.GroupVersion().String()+"/"+resource.Resource, "/")
}

func TestForFindsResourceOfGoType(t *testing.T) {
	t.Parallel()
	c := connected(t)
	for want, got := range map[string]string{
		"v1/pods":                       which[*corev1.Pod](t, c),
		"apps/v1/deployments":           which[*appsv1.Deployment](t, c),
		"coordination.k8s.io/v1/leases": which[*coordinationv1.Lease](t, c),
		"events.k8s.io/v1/events":       which[*eventsv1.Event](t, c),
		"apiextensions.k8s.io/v1/customresourcedefinitions":                                                                                 which[*apiextensionsv1.CustomResourceDefinition](t, c),
		"the resource of *client_test.widget: its kind is unknown":                                                                          which[*widget](t, c),
		"the resource of *unstructured.Unstructured: the type does not":                                                                     which[*unstructured.Unstructured](t, c),
		`the resource of *client_test.Widget: the server has none: no matches for kind "Widget" in version "example.com/v1"; apply its Cus`: which[*Widget](t, c),
	} {
		if !strings.HasPrefix(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	_, err := client.For[*Widget](c).Get(t.Context(), "default", "a")
	if !meta.IsNoMatchError(err) {
		t.Errorf("without its definition: got %v", err)
	}
	defineWidgets(t, c)
	if got := which[*Widget](t, c); got != "example.com/v1/widgets" {
		t.Errorf("after its definition was created: got %s", got)
	}
}

// For returns errors for groups that the server does not have, and for types whose registration failed.
func TestForErrors(t *testing.T) {
	t.Parallel()
	requests := 0
	c := connect(t, func(w http.ResponseWriter, r *http.Request) {
		requests++
		answer(w, 200, `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"rbac.example.com"}]}`)
	})
	if got := which[*rbacv1.Role](t, c); !strings.Contains(got, "the server has no group rbac") {
		t.Errorf("got %s", got)
	}
	failing := c.With(client.Types(func(*runtime.Scheme) error { return errors.New("no such type") }))
	if got := which[*corev1.Pod](t, failing); !strings.Contains(got, "registering the client's types: no such type") {
		t.Errorf("got %s", got)
	}
	twice := c.With(client.Types(addWidgets, func(scheme *runtime.Scheme) error {
		scheme.AddKnownTypes(schema.GroupVersion{Group: "example.org", Version: "v2"}, &Widget{})
		return nil
	}))
	if got := which[*Widget](t, twice); !strings.Contains(got, "registered for several kinds") ||
		!strings.Contains(got, "example.org/v2") {
		t.Errorf("got %s", got)
	}
	if requests != 1 {
		t.Errorf("got %d requests, want 1", requests)
	}
}

// Other groups may have names that begin or end like those of Kubernetes.
func TestOnlyKubernetesGroupsAreBuiltIn(t *testing.T) {
	t.Parallel()
	c := connect(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/apis":
			answer(w, 200, `{"kind":"APIGroupList","apiVersion":"v1","groups":[
				{"name":"autoscaling.k8s.io","versions":[{"version":"v2"}]},{"name":"autoscaling","versions":[{"version":"v2"}]},
				{"name":"storage.other.k8s.io","versions":[{"version":"v1"}]},{"name":"storage.k8s.io","versions":[{"version":"v1"}]},
				{"name":"internal.apiserver.k8s.io","versions":[{"version":"v1alpha1"}]},{"name":"policy","versions":[{"version":"v1beta1"}]}]}`)
		case "/apis/autoscaling/v2":
			answer(w, 200,
				`{"kind":"APIResourceList","apiVersion":"v1","resources":[{"name":"horizontalpodautoscalers","kind":"HorizontalPodAutoscaler"}]}`)
		case "/apis/internal.apiserver.k8s.io/v1alpha1":
			answer(w, 200,
				`{"kind":"APIResourceList","apiVersion":"v1","resources":[{"name":"storageversions","kind":"StorageVersion"}]}`)
		case "/apis/storage.k8s.io/v1":
			answer(w, 200,
				`{"kind":"APIResourceList","apiVersion":"v1","resources":[{"name":"storageclasses","kind":"StorageClass"}]}`)
		default:
			answer(w, 200, `{"kind":"APIResourceList","apiVersion":"v1","resources":[]}`)
		}
	})
	for want, got := range map[string]string{
		"autoscaling/v2/horizontalpodautoscalers":            which[*autoscalingv2.HorizontalPodAutoscaler](t, c),
		"storage.k8s.io/v1/storageclasses":                   which[*storagev1.StorageClass](t, c),
		"internal.apiserver.k8s.io/v1alpha1/storageversions": which[*apiserverinternalv1alpha1.StorageVersion](t, c),
		"the resource of *v1.PodDisruptionBudget: the server has no group policy, or only of another version than v1": which[*policyv1.PodDisruptionBudget](t, c),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A recreated definition may have another plural. The first request after that fails and clears the cached
// resource; the next one finds the new resource.
func TestForRepeatsDiscoveryAfterNotFound(t *testing.T) {
	t.Parallel()
	plural := "widgets"
	requests := 0
	c := connect(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/apis/example.com/v1":
			requests++
			answer(w, 200, `{"kind":"APIResourceList","apiVersion":"v1","resources":[{"name":"`+plural+
				`","kind":"Widget"}]}`)
		case "/apis/example.com/v1/namespaces/n/" + plural + "/a":
			answer(w, 200, `{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"a"}}`)
		case "/apis/example.com/v1/namespaces/n/" + plural + "/b":
			answer(w, 404,
				`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"details":{"name":"b","kind":"`+plural+`"}}`)
		default:
			http.NotFound(w, r)
		}
	}).With(client.Types(addWidgets))
	all := client.For[*Widget](c)
	get := func(name string) error {
		_, err := all.Get(t.Context(), "n", name)
		return err
	}
	if err := get("a"); err != nil {
		t.Fatal(err)
	}
	if err := get("b"); !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	if err := get("a"); err != nil || requests != 1 {
		t.Fatalf("after a missing object: got %d requests, %v", requests, err)
	}
	plural = "thingies"
	if err := get("a"); !apierrors.IsNotFound(err) {
		t.Errorf("with the old plural: got %v", err)
	}
	if err := get("a"); err != nil || requests != 2 {
		t.Errorf("after the resource moved: got %v after %d requests", err, requests)
	}
	for name, scale := range map[string]func() error{
		"Scale": func() error { _, err := all.Scale(t.Context(), "n", "a"); return err },
		"UpdateScale": func() error {
			_, err := all.UpdateScale(t.Context(), &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Namespace: "n",
				Name: "a"}}, metav1.UpdateOptions{})
			return err
		},
	} {
		before := requests
		plural += "x"
		if err := scale(); !apierrors.IsNotFound(err) {
			t.Errorf("%s with the old plural: got %v", name, err)
		}
		if err := get("a"); err != nil || requests != before+1 {
			t.Errorf("%s: after the resource moved: got %v after %d requests", name, err, requests-before)
		}
	}
}

func TestForMatchesResource(t *testing.T) {
	t.Parallel()
	c := connected(t)
	defineWidgets(t, c)
	all := client.For[*Widget](c)
	ctx := t.Context()
	events, err := all.Watch(ctx, "default", metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	one := &Widget{widget{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"}, Spec: widgetSpec{Size: 1}}}
	made, err := all.Create(ctx, one, metav1.CreateOptions{})
	if err != nil || made.Kind != "Widget" || made.APIVersion != "example.com/v1" {
		t.Fatalf("Create: got %+v, %v", made, err)
	}
	if kind, seen, err := events.Next(); err != nil || kind != watch.Added || seen.UID != made.UID {
		t.Errorf("Watch: got %s %+v, %v", kind, seen, err)
	}
	made.Status.Ready = true
	if made, err = all.UpdateStatus(ctx, made, metav1.UpdateOptions{}); err != nil || !made.Status.Ready {
		t.Errorf("UpdateStatus: got %+v, %v", made, err)
	}
	made, err = all.PatchStatus(ctx, "default", "a", types.MergePatchType, []byte(`{"status":{"ready":false}}`),
		metav1.PatchOptions{})
	if err != nil || made.Status.Ready {
		t.Errorf("PatchStatus: got %+v, %v", made, err)
	}
	scale, err := all.Scale(ctx, "default", "a")
	if err != nil || scale.Spec.Replicas != 1 {
		t.Fatalf("Scale: got %+v, %v", scale, err)
	}
	scale.Spec.Replicas = 5
	if scale, err = all.UpdateScale(ctx, scale, metav1.UpdateOptions{}); err != nil || scale.Spec.Replicas != 5 {
		t.Errorf("UpdateScale: got %+v, %v", scale, err)
	}
	if got, err := all.Get(ctx, "default", "a"); err != nil || got.Spec.Size != 5 {
		t.Errorf("after UpdateScale: got %+v, %v", got, err)
	}
	if err := all.Delete(ctx, "default", "a", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := all.Scale(ctx, "default", "a"); !apierrors.IsNotFound(err) {
		t.Errorf("scale of a deleted object: got %v", err)
	}
}

func TestApplyAcceptsConfigurationsAndObjects(t *testing.T) {
	t.Parallel()
	c := connected(t)
	ctx := t.Context()
	maps := client.For[*corev1.ConfigMap](c)
	mine := metav1.ApplyOptions{FieldManager: "mine"}
	made, err := maps.Apply(ctx, applycorev1.ConfigMap("a", "default").WithData(map[string]string{"k": "v"}), mine)
	if err != nil || made.Data["k"] != "v" {
		t.Fatalf("Create: got %+v, %v", made, err)
	}
	other := applycorev1.ConfigMap("a", "default").WithData(map[string]string{"k": "w"})
	_, err = maps.Apply(ctx, other, metav1.ApplyOptions{FieldManager: "other"})
	if !apierrors.IsConflict(err) {
		t.Errorf("another manager's value: got %v", err)
	}
	_, err = maps.Apply(ctx, applycorev1.ConfigMap("a", "default"), metav1.ApplyOptions{})
	if err == nil || !strings.Contains(err.Error(), "ConfigMap default/a: options.FieldManager is empty") {
		t.Errorf("without a manager: got %v", err)
	}
	if _, err := maps.Apply(ctx, applycorev1.ConfigMap("", "default"), mine); err == nil ||
		!strings.Contains(err.Error(), "no name") {
		t.Errorf("without a name: got %v", err)
	}

	// As it came from the server, changed: nobody else's field becomes ours, and what is the server's is left out.
	deployments := client.For[*appsv1.Deployment](c)
	labels := map[string]string{"app": "a"}
	object := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "d", Namespace: "default"},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}},
	}
	deployment, err := deployments.ApplyObject(ctx, object, mine)
	if err != nil {
		t.Fatal(err)
	}
	for _, owned := range deployment.ManagedFields {
		if text := owned.FieldsV1.GetRawString(); strings.Contains(text, "f:status") ||
			strings.Contains(text, "creationTimestamp") {
			t.Errorf("%s owns %s", owned.Manager, text)
		}
	}
	if _, err = deployments.ApplyObject(ctx, deployment, mine); err != nil {
		t.Errorf("applying the stored object: got %v", err)
	}
	status := applyappsv1.Deployment("d", "default").WithStatus(applyappsv1.DeploymentStatus().WithReplicas(3))
	if deployment, err = deployments.ApplyStatus(ctx, status, mine); err != nil || deployment.Status.Replicas != 3 {
		t.Errorf("ApplyStatus: got %+v, %v", deployment, err)
	}
}

package bowline_test

import (
	"context"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
)

// mustCreate creates obj.
func mustCreate[T client.Object](t *testing.T, c *client.Client, obj T) {
	t.Helper()
	if _, err := client.For[T](c).Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// workloads creates one object of each kind that creates pods, and returns the maximum number of pods of
// each.
func workloads(t *testing.T, c *client.Client) map[string]int {
	t.Helper()
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "default", Name: name} }
	template := func(app string) corev1.PodTemplateSpec {
		return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	}
	selects := func(app string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	}
	once := template("once")
	once.Spec.RestartPolicy = corev1.RestartPolicyNever
	for _, name := range []string{"n1", "n2"} {
		mustCreate(t, c, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
		ready := []byte(`{"spec":{"taints":null}}`)
		nodes := client.For[*corev1.Node](c)
		if _, err := nodes.Patch(t.Context(), "", name, "", types.MergePatchType, ready,
			metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	mustCreate(t, c, &corev1.ReplicationController{ObjectMeta: meta("old"), Spec: corev1.ReplicationControllerSpec{
		Replicas: new(int32(3)), Selector: map[string]string{"app": "old"}, Template: new(template("old"))}})
	mustCreate(t, c, &appsv1.Deployment{ObjectMeta: meta("web"), Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(3)), Selector: selects("web"), Template: template("web")}})
	mustCreate(t, c, &appsv1.StatefulSet{ObjectMeta: meta("db"), Spec: appsv1.StatefulSetSpec{
		Replicas: new(int32(3)), Selector: selects("db"), Template: template("db"),
		PodManagementPolicy: appsv1.ParallelPodManagement}})
	mustCreate(t, c, &appsv1.DaemonSet{ObjectMeta: meta("log"), Spec: appsv1.DaemonSetSpec{
		Selector: selects("log"), Template: template("log")}})
	mustCreate(t, c, &batchv1.Job{ObjectMeta: meta("once"), Spec: batchv1.JobSpec{
		Parallelism: new(int32(3)), Completions: new(int32(3)), Template: once}})
	return map[string]int{"old": 3, "web": 3, "db": 3, "log": 2, "once": 3}
}

// TestControllersWithMissingInitializer checks that controllers do not create more pods than
// desired although uninitialized pods are hidden from them, and that those pods are used once they are
// initialized.
func TestControllersWithMissingInitializer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _ := startPlane(t, bowline.Options{Controllers: []string{"*", "-nodelifecycle"}})
		c, err := client.New(p.RESTConfig())
		if err != nil {
			t.Fatal(err)
		}
		nobodyInitializesPods(t, c)
		most := workloads(t, c)
		pods := client.For[*corev1.Pod](c)
		var before int
		for _, wait := range []time.Duration{10 * time.Minute, 2 * time.Hour} {
			time.Sleep(wait)
			made := podsByApp(t, pods.Uninitialized())
			if !maps.Equal(made, most) {
				t.Errorf("after %v there are %v, not %v", wait, made, most)
			}
			events, err := client.For[*corev1.Event](c).List(t.Context(), "default", metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if before == 0 {
				before = len(events.Items)
			} else if len(events.Items) > before+100 {
				t.Errorf("%d events, and before there were %d", len(events.Items), before)
			}
		}
		end(t, pods, time.Hour)
		if running := podsByApp(t, pods); !maps.Equal(running, most) {
			t.Errorf("in the end there are %v, not %v", running, most)
		}
	})
}

// nobodyInitializesPods adds an initializer to all new pods that nothing removes.
func nobodyInitializesPods(t *testing.T, c *client.Client) {
	t.Helper()
	gvr := schema.GroupVersion{Group: "admissionregistration.k8s.io",
		Version: "v1alpha1"}.WithResource("initializerconfigurations")
	configuration := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": gvr.GroupVersion().String(), "kind": "InitializerConfiguration",
		"metadata": map[string]any{"name": "nobody"},
		"initializers": []any{map[string]any{"name": "nobody.example.com", "rules": []any{map[string]any{
			"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"pods"},
		}}}},
	}}
	if _, err := client.Of[*unstructured.Unstructured](c, gvr).Create(t.Context(), configuration,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// end removes the pending initializers of existing pods, and of new ones for a while.
func end(t *testing.T, pods client.Resource[*corev1.Pod], lasts time.Duration) {
	t.Helper()
	for start := time.Now(); time.Since(start) < lasts; time.Sleep(10 * time.Second) {
		for pod, err := range pods.Uninitialized().All(context.Background(), "default", metav1.ListOptions{}) {
			done := []byte(`{"metadata":{"initializers":null}}`)
			if err == nil {
				_, err = pods.Patch(t.Context(), "default", pod.Name, "", types.MergePatchType, done,
					metav1.PatchOptions{})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// podsByApp counts pods by their label app.
func podsByApp(t *testing.T, pods client.Resource[*corev1.Pod]) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for pod, err := range pods.All(t.Context(), "default", metav1.ListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		counts[pod.Labels["app"]]++
	}
	return counts
}

package client_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
)

func TestCreateSubresource(t *testing.T) {
	t.Parallel()
	c, err := client.New(startPlane(t).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	pods := client.Of[*corev1.Pod](c, schema.GroupVersionResource{Version: "v1", Resource: "pods"})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	pod.Spec.Containers = []corev1.Container{{Name: "web", Image: "nginx:1.27.1"}}
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &corev1.Binding{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Binding"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Target:     corev1.ObjectReference{Kind: "Node", Name: "one"},
	}
	if err := pods.CreateSubresource(ctx, "binding", binding,
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Error(err)
	}
	if pod, err := pods.Get(ctx, "default", "web"); err != nil || pod.Spec.NodeName != "" {
		t.Errorf("a dry run bound the pod to %q: %v", pod.Spec.NodeName, err)
	}
	if err := pods.CreateSubresource(ctx, "binding", binding, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	if pod, err := pods.Get(ctx, "default", "web"); err != nil || pod.Spec.NodeName != "one" {
		t.Errorf("got node %q (%v), want one", pod.Spec.NodeName, err)
	}
	if err := pods.CreateSubresource(ctx, "binding", binding, metav1.CreateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("got %v for a second binding, want a conflict", err)
	}
	if err := pods.CreateSubresource(ctx, "binding", &corev1.Binding{}, metav1.CreateOptions{}); err == nil {
		t.Error("a binding without a name returned no error")
	}
}

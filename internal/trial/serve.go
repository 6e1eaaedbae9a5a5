package trial

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
)

// Service returns a Service for port 8080 of the pods with the label app=web. Its IP is given, since an
// allocated one would differ between runs.
func Service(name, ip string) *corev1.Service {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault}}
	service.Spec.ClusterIP = ip
	service.Spec.Selector = map[string]string{"app": "web"}
	service.Spec.Ports = []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}
	return service
}

// Serve does what users do with a Service called web: it creates the Service and its pods a, b and c, which
// become ready, and then deletes a.
func Serve(ctx context.Context, config *rest.Config) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	if _, err := client.For[*corev1.Node](c).Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return err
	}
	service := Service("web", "10.0.0.10")
	if _, err := client.For[*corev1.Service](c).Create(ctx, service, metav1.CreateOptions{}); err != nil {
		return err
	}
	for i, name := range []string{"a", "b", "c"} {
		time.Sleep(5 * time.Second)
		if err := RunPod(ctx, config, name, fmt.Sprintf("10.1.0.%d", i+1)); err != nil {
			return err
		}
	}
	time.Sleep(5 * time.Second)
	atOnce := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	return client.For[*corev1.Pod](c).Delete(ctx, metav1.NamespaceDefault, "a", atOnce)
}

// RunPod creates a pod with the label app=web on the node n. A second later it makes the pod running and
// ready, with an address unless ip is empty.
func RunPod(ctx context.Context, config *rest.Config, name, ip string) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	running := client.For[*corev1.Pod](c)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault}}
	pod.Labels = map[string]string{"app": "web"}
	pod.Spec.NodeName = "n"
	pod.Spec.Containers = []corev1.Container{{Name: "web", Image: "web:1"}}
	if _, err := running.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return err
	}
	time.Sleep(time.Second)
	status := corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{ready()}}
	if ip != "" {
		status.PodIP, status.PodIPs = ip, []corev1.PodIP{{IP: ip}}
	}
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	_, err = running.PatchStatus(ctx, metav1.NamespaceDefault, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// Untimed is a Compare function for the objects that result from Serve. It removes the annotations of
// Endpoints and EndpointSlices, which hold the time of the change that caused the last write: a controller
// that combines three changes in one write records another time.
func Untimed(s bowlinetest.State) bowlinetest.State {
	for _, obj := range append(s.Kind("EndpointSlice"), s.Kind("Endpoints")...) {
		unstructured.RemoveNestedField(obj.Object, "metadata", "annotations")
	}
	return s
}

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

// Service is a service of the pods app=web, on port 8080 of each. Its address is given, since it would be another one each time.
func Service(name, ip string) *corev1.Service {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault}}
	service.Spec.ClusterIP = ip
	service.Spec.Selector = map[string]string{"app": "web"}
	service.Spec.Ports = []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}
	return service
}

// Serve is what users do with a Service called web: its pods a, b and c come and become ready, and a goes.
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

// RunPod makes a pod app=web on the node n, and a second later has it run and be ready: at an address, unless that is empty.
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

// Untimed is a Scenario's Compare for what follows from Serve. It leaves out the annotations of Endpoints and EndpointSlices,
// which say when it happened that the last write tells of: who writes at once what happened in three steps says so of other
// ones.
func Untimed(s bowlinetest.State) bowlinetest.State {
	for _, obj := range append(s.Kind("EndpointSlice"), s.Kind("Endpoints")...) {
		unstructured.RemoveNestedField(obj.Object, "metadata", "annotations")
	}
	return s
}

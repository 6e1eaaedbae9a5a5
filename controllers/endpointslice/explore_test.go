package endpointslice_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/controllers/endpointslice"
)

// run is the controller as a program.
func run(ctx context.Context, config *rest.Config) error {
	m, err := controller.NewManager(config, controller.ManagerOptions{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	endpointslice.Add(m)
	return m.Run(ctx)
}

func TestNoFaultHidesAPod(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, serving(bowlinetest.Process{Name: "controller", Run: run}))
}

func TestTwoAtOnceSayTheSame(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, serving(bowlinetest.Process{Name: "one", Run: run}, bowlinetest.Process{Name: "two", Run: run}))
}

// serving is a service whose pods come, become ready, and go.
func serving(processes ...bowlinetest.Process) bowlinetest.Scenario {
	return bowlinetest.Scenario{
		Options:    []bowlinetest.Option{alone()},
		Processes:  processes,
		Act:        serve,
		Settle:     2 * time.Minute,
		Invariants: []func(bowlinetest.State) error{once},
		Compare:    untimed,
		Skip:       func(p bowlinetest.Point) bool { return p.Resource == "events" },
		Budget:     30,
	}
}

func serve(ctx context.Context, config *rest.Config) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	if _, err := client.For[*corev1.Node](c).Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}}
	service.Spec.ClusterIP = "10.0.0.10" // else it is another one each time
	service.Spec.Selector = map[string]string{"app": "web"}
	service.Spec.Ports = []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}
	if _, err := client.For[*corev1.Service](c).Create(ctx, service, metav1.CreateOptions{}); err != nil {
		return err
	}
	for i, name := range []string{"a", "b", "c"} {
		time.Sleep(5 * time.Second)
		if err := runPod(ctx, c, name, fmt.Sprintf("10.1.0.%d", i+1)); err != nil {
			return err
		}
	}
	time.Sleep(5 * time.Second)
	now := int64(0)
	return client.For[*corev1.Pod](c).Delete(ctx, "default", "a", metav1.DeleteOptions{GracePeriodSeconds: &now})
}

// runPod makes a pod that is ready at an address.
func runPod(ctx context.Context, c *client.Client, name, ip string) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"app": "web"}}}
	pod.Spec.NodeName = "n"
	pod.Spec.Containers = []corev1.Container{{Name: "web", Image: "web:1"}}
	if _, err := client.For[*corev1.Pod](c).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return err
	}
	time.Sleep(time.Second)
	status, err := json.Marshal(map[string]any{"status": corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}},
	}})
	if err != nil {
		return err
	}
	_, err = client.For[*corev1.Pod](c).PatchStatus(ctx, "default", name, types.MergePatchType, status, metav1.PatchOptions{})
	return err
}

// untimed leaves out when what the last write says happened: who writes at once what happened in three steps says so of other ones.
func untimed(s bowlinetest.State) bowlinetest.State {
	for _, obj := range append(s.Kind("EndpointSlice"), s.Kind("Endpoints")...) {
		unstructured.RemoveNestedField(obj.Object, "metadata", "annotations")
	}
	return s
}

// once is broken when a pod is in two slices.
func once(s bowlinetest.State) error {
	in := map[string]string{}
	for _, obj := range s.Kind("EndpointSlice") {
		slice := &discoveryv1.EndpointSlice{}
		if err := convert(obj, slice); err != nil {
			return err
		}
		for _, e := range slice.Endpoints {
			if other, twice := in[e.TargetRef.Name]; twice {
				return fmt.Errorf("pod %s is in the slices %s and %s", e.TargetRef.Name, other, slice.Name)
			}
			in[e.TargetRef.Name] = slice.Name
		}
	}
	return nil
}

func convert(obj *unstructured.Unstructured, into any) error {
	data, err := json.Marshal(obj)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

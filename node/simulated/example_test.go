package simulated_test

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/node/simulated"
)

// A pod becomes ready on a simulated node.
func ExampleAdd() {
	ctx, cancel := context.WithCancel(context.Background())
	plane, err := bowline.Start(ctx, bowline.Options{})
	if err != nil {
		panic(err)
	}
	defer plane.Close()
	m, err := controller.NewManager(plane.RESTConfig(), controller.ManagerOptions{Source: plane.Source()})
	if err != nil {
		panic(err)
	}
	simulated.Add(m, simulated.Options{Nodes: 1, Stages: simulated.Stages{Start: time.Millisecond}})
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	<-m.Ready()

	pods := client.For[*corev1.Pod](m.Client())
	changes, err := pods.Watch(ctx, "default", metav1.ListOptions{})
	if err != nil {
		panic(err)
	}
	defer changes.Stop()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: corev1.PodSpec{
			NodeName:   "node-0", // a scheduler would choose it
			Containers: []corev1.Container{{Name: "web", Image: "nginx"}},
		},
	}
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		panic(err)
	}
	for pod.Status.Phase != corev1.PodRunning || !pod.Status.ContainerStatuses[0].Ready {
		if _, pod, err = changes.Next(); err != nil {
			panic(err)
		}
	}
	fmt.Println(pod.Name, "is ready on", pod.Spec.NodeName)
	cancel()
	fmt.Println("ended:", <-ended)
	// Output:
	// web is ready on node-0
	// ended: <nil>
}

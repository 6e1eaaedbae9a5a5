// Command bowline-client does with Bowline's client what rest, clientset-pod and clientset-running do with
// client-go's. A single generic client serves built-in kinds and custom resources; it derives the resource
// from the Go type. It works with any Kubernetes.
//
//	go run ./examples/clients/bowline-client [--kubeconfig FILE] [--context NAME] [--namespace NAME] [POD]
package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/examples/clients/lab"
)

func main() {
	lab.Main(lab.Program{Arguments: "[POD]", Namespaced: true, Run: run})
}

func run(ctx context.Context, s lab.Server) error {
	c, err := client.New(s.Config)
	if err != nil {
		return err
	}
	pods := client.For[*corev1.Pod](c)

	pod, err := pods.Get(ctx, s.Namespace, s.Argument("test"))
	if err != nil {
		return err
	}
	fmt.Printf("%s/%s is %s, with image %s\n", pod.Namespace, pod.Name, pod.Status.Phase, pod.Spec.Containers[0].Image)

	running := 0
	for _, err := range pods.All(ctx, metav1.NamespaceAll, metav1.ListOptions{FieldSelector: "status.phase=Running"}) {
		if err != nil {
			return err
		}
		running++ // the iterator lists page by page
	}
	fmt.Println("running pods in all namespaces:", running)
	return nil
}

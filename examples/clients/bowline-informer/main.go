// Command bowline-informer prints changes of pods with Bowline's informer, as informer does with client-go's.
// Its handlers receive the pod's Go type, and there are no tombstones. It works with any Kubernetes.
//
//	go run ./examples/clients/bowline-informer [--kubeconfig FILE] [--context NAME] [--namespace NAME]
package main

import (
	"context"
	"fmt"
	"os"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/examples/clients/lab"
	"github.com/bowline-dev/bowline/informer"
)

func main() {
	lab.Main(lab.Program{Namespaced: true, Run: run})
}

func run(ctx context.Context, s lab.Server) error {
	c, err := client.New(s.Config)
	if err != nil {
		return err
	}
	// An informer retries forever. This list reports an error at once if the pods cannot be listed.
	if _, err := client.For[*corev1.Pod](c).List(ctx, s.Namespace, metav1.ListOptions{Limit: 1}); err != nil {
		return err
	}
	resource := corev1.SchemeGroupVersion.WithResource("pods")
	pods := informer.New(client.NewSource(c), resource, informer.Options[*corev1.Pod]{Namespace: s.Namespace})
	handlers := pods.AddHandler(informer.HandlerFuncs[*corev1.Pod]{
		Add:    func(pod *corev1.Pod, _ bool) { show("ADDED", pod) }, // also called for existing pods
		Update: func(_, pod *corev1.Pod) { show("MODIFIED", pod) },
		Delete: func(pod *corev1.Pod, _ bool) { show("DELETED", pod) }, // with the last observed state
	})

	fmt.Printf("%-9s %-23s %-17s %s\n", "EVENT", "POD", "VERSION", "PHASE")
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { pods.Run(ctx) })
	select {
	case <-handlers.Synced():
		fmt.Fprintf(os.Stderr, "These exist in %s; changes follow until Ctrl-C.\n", s.Namespace)
	case <-ctx.Done():
	}
	<-ctx.Done()
	return nil
}

func show(event string, pod *corev1.Pod) {
	fmt.Printf("%-9s %-23s %-17s %s\n", event, pod.Namespace+"/"+pod.Name, pod.ResourceVersion, pod.Status.Phase)
}

// Command informer prints changes of pods, with client-go's shared informer: it lists the pods, watches from
// the version of the list, caches every pod, and calls handlers after each change. In a controller the
// handlers would add keys to a queue (see informer-queue); these print.
//
//	go run ./examples/clients/informer [--kubeconfig FILE] [--context NAME] [--namespace NAME]
package main

import (
	"context"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	informersv1 "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/bowline-dev/bowline/examples/clients/lab"
)

func main() {
	lab.Main(lab.Program{Namespaced: true, Run: run})
}

func run(ctx context.Context, s lab.Server) error {
	clients, err := kubernetes.NewForConfig(s.Config)
	if err != nil {
		return err
	}
	// An informer retries forever. This list reports an error at once if the pods cannot be listed.
	if _, err := clients.CoreV1().Pods(s.Namespace).List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace(s.Namespace))
	pods := factory.Core().V1().Pods().TypedInformer()
	handlers, err := pods.AddTypedEventHandler(informersv1.PodDetailedHandlerFuncs{
		AddFunc:    func(pod *corev1.Pod, _ bool) { show("ADDED", pod) }, // also called for existing pods
		UpdateFunc: func(_, pod *corev1.Pod) { show("MODIFIED", pod) },
		DeleteFunc: func(deleted informersv1.DeletedPod) {
			if deleted.OptionalObj != nil { // the last observed state
				show("DELETED", deleted.OptionalObj)
			}
		},
	})
	if err != nil {
		return err
	}

	fmt.Printf("%-9s %-23s %-17s %s\n", "EVENT", "POD", "VERSION", "PHASE")
	factory.StartWithContext(ctx)
	defer factory.Shutdown()
	if cache.WaitFor(ctx, "", handlers.HasSyncedChecker()) {
		fmt.Fprintf(os.Stderr, "These exist in %s; changes follow until Ctrl-C.\n", s.Namespace)
	}
	<-ctx.Done()
	return nil
}

func show(event string, pod *corev1.Pod) {
	fmt.Printf("%-9s %-23s %-17s %s\n", event, pod.Namespace+"/"+pod.Name, pod.ResourceVersion, pod.Status.Phase)
}

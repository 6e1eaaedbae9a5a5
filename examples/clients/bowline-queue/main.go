// Command bowline-queue does what informer-queue does, with Bowline's controller. The controller provides the
// queue, the workers, the retries, and a cache that reflects its own writes; only the work itself remains to
// be written. It works with any Kubernetes.
//
//	go run ./examples/clients/bowline-queue [--kubeconfig FILE] [--context NAME] [--namespace NAME]
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/examples/clients/lab"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/workqueue"
)

func main() {
	lab.Main(lab.Program{Namespaced: true, Run: run})
}

func run(ctx context.Context, s lab.Server) error {
	manager, err := controller.NewManager(s.Config, controller.ManagerOptions{})
	if err != nil {
		return err
	}
	// An informer retries forever. This list reports an error at once if the pods cannot be listed.
	if _, err := client.For[*corev1.Pod](manager.Client()).List(ctx, s.Namespace,
		metav1.ListOptions{Limit: 1}); err != nil {
		return err
	}
	resource := corev1.SchemeGroupVersion.WithResource("pods")
	pods := informer.For[*corev1.Pod](manager.Informers(), resource, informer.Scope{Namespace: s.Namespace})
	manager.Add(controller.Options{
		Name:       "pods",
		Sources:    []controller.Source{controller.For(pods)},
		Reconciler: &printer{pods.Lister()},
		Workers:    2,
		Limiter:    workqueue.NewExponential[controller.Request](100*time.Millisecond, time.Minute),
	})
	return manager.Run(ctx)
}

// printer implements the work.
type printer struct{ pods informer.Lister[*corev1.Pod] }

// Reconcile prints the current state of a pod. It fails if the pod has the annotation fail.
func (p *printer) Reconcile(_ context.Context, request controller.Request) (controller.Result, error) {
	pod, err := p.pods.Get(request.Namespace, request.Name)
	switch {
	case apierrors.IsNotFound(err):
		fmt.Printf("worker %s: gone\n", request)
		return controller.Result{}, nil
	case err != nil:
		return controller.Result{}, err
	case pod.Annotations["fail"] != "":
		return controller.Result{}, errors.New("the annotation fail is set: " + pod.Annotations["fail"])
	}
	fmt.Printf("worker %s: version %s, %s\n", request, pod.ResourceVersion, pod.Status.Phase)
	return controller.Result{}, nil
}

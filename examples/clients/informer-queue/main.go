// Command informer-queue shows the structure of a controller: an informer's handlers add the keys of changed
// pods to a work queue, and workers take keys from it, read the pod from the informer's cache, and print it.
// If a key is added several times before a worker takes it, it is processed once, with the pod's latest
// state. Failed keys are retried with a growing delay.
//
//	go run ./examples/clients/informer-queue [--step] [--kubeconfig FILE] [--context NAME] [--namespace NAME]
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	informersv1 "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/bowline-dev/bowline/examples/clients/lab"
)

var step = flag.Bool("step", false,
	"process one key each time Enter is pressed, so that the others can be seen waiting")

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
	pods := factory.Core().V1().Pods()
	retries := workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](100*time.Millisecond, time.Minute)
	l := &loop{pods: pods.Lister(), queue: workqueue.NewTypedRateLimitingQueue(retries), turns: turns()}
	handlers, err := pods.TypedInformer().AddTypedEventHandler(informersv1.PodHandlerFuncs{
		AddFunc:    func(pod *corev1.Pod) { l.add("ADDED", cache.MetaObjectToName(pod)) },
		UpdateFunc: func(_, pod *corev1.Pod) { l.add("MODIFIED", cache.MetaObjectToName(pod)) },
		DeleteFunc: func(deleted informersv1.DeletedPod) { l.add("DELETED", deleted.GetObjectName()) },
	})
	if err != nil {
		return err
	}

	factory.StartWithContext(ctx)
	defer factory.Shutdown()
	if !cache.WaitFor(ctx, "", handlers.HasSyncedChecker()) {
		return nil
	}
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() { l.work(ctx) })
	}
	<-ctx.Done()
	l.queue.ShutDown()
	workers.Wait()
	return nil
}

// loop is the state that handlers and workers share.
type loop struct {
	pods  listersv1.PodLister // reads the informer's cache
	queue workqueue.TypedRateLimitingInterface[cache.ObjectName]
	turns <-chan struct{} // a worker receives from it before it takes a key
}

// add is called by the handlers. It is fast and does not look at what has changed.
func (l *loop) add(event string, key cache.ObjectName) {
	fmt.Printf("%-9s %s\n", event, key)
	l.queue.Add(key)
}

// work runs a worker until the queue is shut down.
func (l *loop) work(ctx context.Context) {
	for {
		select {
		case <-l.turns:
		case <-ctx.Done():
			return
		}
		key, shutdown := l.queue.Get()
		if shutdown {
			return
		}
		if err := l.sync(key); err == nil {
			l.queue.Forget(key)
		} else if tries := l.queue.NumRequeues(key) + 1; tries < 5 {
			fmt.Printf("  failed  %s: try %d: %v\n", key, tries, err)
			l.queue.AddRateLimited(key)
		} else {
			fmt.Printf("  gave up %s: try %d: %v\n", key, tries, err)
			l.queue.Forget(key)
		}
		l.queue.Done(key) // from now on another worker may take the key
	}
}

// sync implements the work. In this example it prints the current state of the pod. It fails if the pod has
// the annotation fail.
func (l *loop) sync(key cache.ObjectName) error {
	pod, err := l.pods.Pods(key.Namespace).Get(key.Name)
	switch {
	case apierrors.IsNotFound(err):
		fmt.Printf("  worker  %s: gone; keys that wait: %d\n", key, l.queue.Len())
		return nil
	case err != nil:
		return err
	case pod.Annotations["fail"] != "":
		return errors.New("the annotation fail is set: " + pod.Annotations["fail"])
	}
	fmt.Printf("  worker  %s: version %s, %s; keys that wait: %d\n", key, pod.ResourceVersion, pod.Status.Phase,
		l.queue.Len())
	return nil
}

// turns returns a channel that permits one key for each line of input or, without --step, any number of keys.
func turns() <-chan struct{} {
	turns := make(chan struct{})
	if !*step {
		close(turns)
		return turns
	}
	go func() {
		defer close(turns)
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			turns <- struct{}{}
		}
	}()
	return turns
}

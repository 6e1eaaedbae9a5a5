package clientgo

import (
	"context"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	appslisters "k8s.io/client-go/listers/apps/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
)

var widgetsResource = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

// sample is a typical controller based on client-go alone: informers of a factory, listers, a work queue and
// workers. It maintains a Deployment with the name and size of each Widget, and reports the size in the
// Widget's status.
type sample struct {
	clients     kubernetes.Interface
	widgets     dynamic.NamespaceableResourceInterface
	deployments appslisters.DeploymentLister
	lister      cache.GenericLister
	queue       workqueue.TypedRateLimitingInterface[cache.ObjectName]
	recorder    record.EventRecorder
}

// runSample runs the controller until ctx ends.
func runSample(ctx context.Context, config *rest.Config) error {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	dynamics, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	events := record.NewBroadcaster(record.WithContext(ctx))
	events.StartRecordingToSink(&typedcore.EventSinkImpl{Interface: clients.CoreV1().Events("")})
	defer events.Shutdown()
	builtin := informers.NewSharedInformerFactory(clients, 30*time.Second)
	custom := dynamicinformer.NewDynamicSharedInformerFactory(dynamics, 30*time.Second)
	deployments := builtin.Apps().V1().Deployments()
	s := &sample{
		clients:     clients,
		widgets:     dynamics.Resource(widgetsResource),
		deployments: deployments.Lister(),
		lister:      custom.ForResource(widgetsResource).Lister(),
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]()),
		recorder: events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "sample"}),
	}
	if _, err := custom.ForResource(widgetsResource).Informer().AddEventHandler(handle(s.enqueue)); err != nil {
		return err
	}
	if _, err := deployments.Informer().AddEventHandler(handle(s.enqueueOwner)); err != nil {
		return err
	}
	builtin.StartWithContext(ctx)
	custom.Start(ctx.Done())
	defer builtin.Shutdown()
	defer custom.Shutdown()
	if !cache.WaitForCacheSync(ctx.Done(), deployments.Informer().HasSynced,
		custom.ForResource(widgetsResource).Informer().HasSynced) {
		return nil // it was stopped
	}
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() { wait.UntilWithContext(ctx, s.work, time.Second) })
	}
	<-ctx.Done()
	s.queue.ShutDown()
	workers.Wait()
	return nil
}

// handle handles all events of an object in the same way: its key is added to the queue.
func handle(changed func(any)) cache.ResourceEventHandlerFuncs {
	return cache.ResourceEventHandlerFuncs{AddFunc: changed, UpdateFunc: func(_, obj any) {
		changed(obj)
	}, DeleteFunc: changed}
}

func (s *sample) enqueue(obj any) {
	if name, err := cache.DeletionHandlingObjectToName(obj); err == nil {
		s.queue.Add(name)
	}
}

func (s *sample) enqueueOwner(obj any) {
	if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = last.Obj
	}
	d, ok := obj.(*appsv1.Deployment)
	if !ok {
		return
	}
	if owner := metav1.GetControllerOf(d); owner != nil && owner.Kind == "Widget" {
		s.queue.Add(cache.ObjectName{Namespace: d.Namespace, Name: owner.Name})
	}
}

// work processes requests until the queue shuts down.
func (s *sample) work(ctx context.Context) {
	for {
		name, end := s.queue.Get()
		if end {
			return
		}
		if err := s.sync(ctx, name); err != nil {
			utilruntime.HandleErrorWithContext(ctx, err, "syncing", "widget", name)
			s.queue.AddRateLimited(name)
		} else {
			s.queue.Forget(name)
		}
		s.queue.Done(name)
	}
}

// sync creates or updates the Deployment of a Widget, and reports its size.
func (s *sample) sync(ctx context.Context, name cache.ObjectName) error {
	obj, err := s.lister.ByNamespace(name.Namespace).Get(name.Name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	widget := obj.(*unstructured.Unstructured)
	size, _, _ := unstructured.NestedInt64(widget.Object, "spec", "size")
	d, err := s.deployments.Deployments(name.Namespace).Get(name.Name)
	if apierrors.IsNotFound(err) {
		d, err = s.clients.AppsV1().Deployments(name.Namespace).Create(ctx, deploymentOf(widget, size),
			metav1.CreateOptions{})
	}
	if err != nil {
		return err
	}
	if !metav1.IsControlledBy(d, widget) {
		s.recorder.Eventf(widget, corev1.EventTypeWarning, "ErrResourceExists",
			"Deployment %s belongs to another owner",
			d.Name)
		return fmt.Errorf("deployment %s belongs to another owner", d.Name)
	}
	if int64(*d.Spec.Replicas) != size {
		d = d.DeepCopy() // a new object would discard concurrent changes of other clients
		d.Spec.Replicas = deploymentOf(widget, size).Spec.Replicas
		if _, err := s.clients.AppsV1().Deployments(name.Namespace).Update(ctx, d, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	return s.updateStatus(ctx, widget, size)
}

func (s *sample) updateStatus(ctx context.Context, widget *unstructured.Unstructured, size int64) error {
	if now, _, _ := unstructured.NestedInt64(widget.Object, "status", "size"); now == size {
		return nil
	}
	widget = widget.DeepCopy()
	if err := unstructured.SetNestedField(widget.Object, size, "status", "size"); err != nil {
		return err
	}
	if _, err := s.widgets.Namespace(widget.GetNamespace()).UpdateStatus(ctx, widget,
		metav1.UpdateOptions{}); err != nil {
		return err
	}
	s.recorder.Event(widget, corev1.EventTypeNormal, "Synced", "the Deployment has the declared size")
	return nil
}

func deploymentOf(widget *unstructured.Unstructured, size int64) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: widget.GetNamespace(), Name: widget.GetName(),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(widget,
				widgetsResource.GroupVersion().WithKind("Widget"))},
		},
		Spec: appsv1.DeploymentSpec{Replicas: new(int32(size)), Selector: selector(), Template: template()},
	}
}

package main

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/errors"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	samplecrdv1 "github.com/bowline-dev/bowline/examples/sample-controller/pkg/apis/samplecrd/v1"
	clientset "github.com/bowline-dev/bowline/examples/sample-controller/pkg/client/clientset/versioned"
	informers "github.com/bowline-dev/bowline/examples/sample-controller/pkg/client/informers/externalversions/samplecrd/v1"
	listers "github.com/bowline-dev/bowline/examples/sample-controller/pkg/client/listers/samplecrd/v1"
	"github.com/bowline-dev/bowline/examples/sample-controller/pkg/neutron"
)

// Controller makes Neutron's networks match the Network objects.
type Controller struct {
	kubeclientset    kubernetes.Interface // as in the documents; neither clientset is used here
	networkclientset clientset.Interface
	networksLister   listers.NetworkLister
	networksSynced   cache.InformerSynced
	workqueue        workqueue.TypedRateLimitingInterface[string]
	neutron          neutron.Interface
}

// NewController creates a controller and registers it with the informer.
func NewController(kubeclientset kubernetes.Interface, networkclientset clientset.Interface,
	networkInformer informers.NetworkInformer, neutron neutron.Interface) (*Controller, error) {
	controller := &Controller{
		kubeclientset:    kubeclientset,
		networkclientset: networkclientset,
		networksLister:   networkInformer.Lister(),
		workqueue: workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[string](),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: "Networks"}),
		neutron: neutron,
	}
	handler, err := networkInformer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: controller.enqueueNetwork,
		UpdateFunc: func(old, new any) {
			oldNetwork, newNetwork := old.(*samplecrdv1.Network), new.(*samplecrdv1.Network)
			if oldNetwork.ResourceVersion == newNetwork.ResourceVersion {
				return // a resync: nothing has changed
			}
			controller.enqueueNetwork(new)
		},
		DeleteFunc: controller.enqueueNetworkForDelete,
	})
	if err != nil {
		return nil, err
	}
	controller.networksSynced = handler.HasSynced
	return controller, nil
}

// enqueueNetwork adds the key of an object, namespace/name, to the queue.
func (c *Controller) enqueueNetwork(obj any) {
	key, err := cache.MetaNamespaceKeyFunc(obj)
	if err != nil {
		utilruntime.HandleError(err)
		return
	}
	c.workqueue.Add(key)
}

// enqueueNetworkForDelete adds the key of a deleted object to the queue, even if the informer missed the
// deletion.
func (c *Controller) enqueueNetworkForDelete(obj any) {
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		utilruntime.HandleError(err)
		return
	}
	c.workqueue.Add(key)
}

// Run runs the workers until stopCh is closed, and returns when each has finished its current item. Other
// items in the queue are dropped: they are found again at the next start.
func (c *Controller) Run(threadiness int, stopCh <-chan struct{}) error {
	var workers sync.WaitGroup
	defer workers.Wait()
	defer c.workqueue.ShutDown()

	if ok := cache.WaitForCacheSync(stopCh, c.networksSynced); !ok {
		return nil // stopped before the caches were filled
	}
	for _, n := range c.neutron.Names() {
		c.workqueue.Add(n.Namespace + "/" + n.Name) // its object may have been deleted while the controller did not run
	}
	for range threadiness {
		workers.Go(func() { wait.Until(func() { c.runWorker(stopCh) }, time.Second, stopCh) })
	}
	<-stopCh
	return nil
}

func (c *Controller) runWorker(stopCh <-chan struct{}) {
	for c.processNextWorkItem() {
		select {
		case <-stopCh:
			return // after a shutdown the queue still returns its items
		default:
		}
	}
}

func (c *Controller) processNextWorkItem() bool {
	key, shutdown := c.workqueue.Get()
	if shutdown {
		return false
	}
	err := func(key string) error {
		defer c.workqueue.Done(key)
		if err := c.syncHandler(key); err != nil {
			c.workqueue.AddRateLimited(key)
			return fmt.Errorf("error syncing '%s': %w", key, err)
		}
		c.workqueue.Forget(key)
		return nil
	}(key)
	if err != nil {
		utilruntime.HandleError(err)
	}
	return true
}

// syncHandler compares the declared network with the actual one and corrects the difference.
func (c *Controller) syncHandler(key string) error {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return err
	}
	network, err := c.networksLister.Networks(namespace).Get(name)
	if errors.IsNotFound(err) {
		klog.Warningf("Network: %s/%s does not exist in local cache, will delete it from Neutron ...", namespace, name)
		return c.neutron.Delete(namespace, name)
	}
	if err != nil {
		return err
	}
	klog.Infof("[Neutron] Try to process network: %s/%s %+v ...", namespace, name, network.Spec)
	if network.Spec.Cidr == "" {
		klog.Warningf("Network: %s/%s has no spec.cidr: it is ignored until it has one", namespace, name)
		return nil
	}
	wanted := neutron.Network(network.Spec)
	actual, exists := c.neutron.Get(namespace, name)
	switch {
	case !exists:
		return c.neutron.Create(namespace, name, wanted)
	case actual != wanted:
		return c.neutron.Update(namespace, name, wanted)
	}
	return nil
}

package clientgo

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"github.com/bowline-dev/bowline/client"
)

// NewDynamicSharedInformerFactory replaces dynamicinformer.NewDynamicSharedInformerFactory. resync is the interval
// at which handlers receive every object again; 0 means never.
func NewDynamicSharedInformerFactory(source client.Source,
	resync time.Duration) dynamicinformer.DynamicSharedInformerFactory {
	return newUntyped(source, FactoryOptions{Resync: resync}.perInformer(), &unstructured.Unstructured{})
}

// NewDynamicSharedInformerFactoryWithOptions replaces dynamicinformer.NewFilteredDynamicSharedInformerFactory. It
// returns an error if a selector that Tweak sets is invalid. It ignores ResyncOf, whose keys are Go types.
func NewDynamicSharedInformerFactoryWithOptions(
	source client.Source, o FactoryOptions,
) (dynamicinformer.DynamicSharedInformerFactory, error) {
	return newTweaked(source, o, &unstructured.Unstructured{})
}

// NewMetadataSharedInformerFactory replaces metadatainformer.NewSharedInformerFactory. resync is the interval at
// which handlers receive every object again; 0 means never.
func NewMetadataSharedInformerFactory(source client.Source,
	resync time.Duration) metadatainformer.SharedInformerFactory {
	return newUntyped(source, FactoryOptions{Resync: resync}.perInformer(), &metav1.PartialObjectMetadata{})
}

// NewMetadataSharedInformerFactoryWithOptions replaces metadatainformer.NewFilteredSharedInformerFactory. It
// returns an error if a selector that Tweak sets is invalid. It ignores ResyncOf, whose keys are Go types.
func NewMetadataSharedInformerFactoryWithOptions(
	source client.Source, o FactoryOptions,
) (metadatainformer.SharedInformerFactory, error) {
	return newTweaked(source, o, &metav1.PartialObjectMetadata{})
}

// untyped creates informers of any resource, all of one Go type.
type untyped struct {
	source    client.Source
	options   Options
	transform cache.TransformFunc
	example   runtime.Object

	mu        sync.Mutex
	informers map[schema.GroupVersionResource]cache.SharedIndexInformer
	started   map[schema.GroupVersionResource]bool
	stopping  bool
	running   sync.WaitGroup
}

func newTweaked(source client.Source, o FactoryOptions, example runtime.Object) (*untyped, error) {
	options := o.perInformer()
	if err := options.tweak(o.Tweak); err != nil {
		return nil, err
	}
	f := newUntyped(source, options, example)
	f.transform = o.Transform
	return f, nil
}

func newUntyped(source client.Source, options Options, example runtime.Object) *untyped {
	return &untyped{source: source, options: options, example: example,
		informers: map[schema.GroupVersionResource]cache.SharedIndexInformer{},
		started:   map[schema.GroupVersionResource]bool{}}
}

// ForResource returns the informer of a resource. All callers share it.
func (f *untyped) ForResource(resource schema.GroupVersionResource) informers.GenericInformer {
	f.mu.Lock()
	defer f.mu.Unlock()
	i, ok := f.informers[resource]
	if !ok {
		i = New(f.source, resource, f.example, f.options)
		if err := i.SetTransform(f.transform); err != nil {
			panic(err) // unreachable: a new informer has not started
		}
		f.informers[resource] = i
	}
	return generic{i, resource.GroupResource()}
}

// Start runs the informers that do not run yet, until a channel is closed.
func (f *untyped) Start(stop <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopping {
		return
	}
	for resource, i := range f.informers {
		if !f.started[resource] {
			f.started[resource] = true
			f.running.Go(func() { i.Run(stop) })
		}
	}
}

// WaitForCacheSync waits until all running informers have synced or the channel is closed, and returns which have
// synced.
func (f *untyped) WaitForCacheSync(stop <-chan struct{}) map[schema.GroupVersionResource]bool {
	synced := map[schema.GroupVersionResource]bool{}
	for resource, i := range f.runningNow() {
		select {
		case <-i.HasSyncedChecker().Done():
		case <-stop:
		}
		synced[resource] = i.HasSynced()
	}
	return synced
}

func (f *untyped) runningNow() map[schema.GroupVersionResource]cache.SharedIndexInformer {
	f.mu.Lock()
	defer f.mu.Unlock()
	running := map[schema.GroupVersionResource]cache.SharedIndexInformer{}
	for resource := range f.started {
		running[resource] = f.informers[resource]
	}
	return running
}

// Shutdown prevents further starts, and waits until the running informers have ended.
func (f *untyped) Shutdown() {
	f.mu.Lock()
	f.stopping = true
	f.mu.Unlock()
	f.running.Wait()
}

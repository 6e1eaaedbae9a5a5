package clientgo

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
)

// FactoryOptions correspond to the options of client-go's factories. The zero value selects all objects, without
// resyncs.
type FactoryOptions struct {
	// Resync is the interval at which handlers receive every object again; 0 means never. ResyncOf overrides it for
	// the Go types of its keys.
	Resync   time.Duration
	ResyncOf map[metav1.Object]time.Duration
	// Namespace is empty for all namespaces.
	Namespace string
	// Tweak sets the label and field selectors of lists and watches. Its other changes have no effect.
	Tweak func(*metav1.ListOptions)
	// Transform modifies each object before it is cached. It must not change the name.
	Transform cache.TransformFunc
	// Lazy stores objects as encoded by the source and decodes each when it is read. That halves the memory if few
	// objects are read.
	Lazy bool
	// Mutations detects, in tests, changes of cached objects; nil disables detection. See informer.DetectMutations.
	Mutations *informer.Mutations
}

// NewSharedInformerFactory replaces informers.NewSharedInformerFactory. The factory's informers read from source,
// and client-go's listers read their caches. resync is the interval at which handlers receive every object again; 0
// means never. Cached objects are shared: copy them before changing them.
func NewSharedInformerFactory(source client.Source, resync time.Duration) informers.SharedInformerFactory {
	f, err := NewSharedInformerFactoryWithOptions(source, FactoryOptions{Resync: resync})
	if err != nil {
		panic(err) // unreachable: only a Tweak causes errors
	}
	return f
}

// NewSharedInformerFactoryWithOptions is like NewSharedInformerFactory with options. It returns an error if a
// selector that Tweak sets is invalid.
func NewSharedInformerFactoryWithOptions(source client.Source,
	o FactoryOptions) (informers.SharedInformerFactory, error) {
	perInformer := o.perInformer()
	if err := perInformer.tweak(o.Tweak); err != nil {
		return nil, err
	}
	base := informers.NewSharedInformerFactoryWithOptions(nil, o.Resync,
		informers.WithCustomResyncConfig(o.ResyncOf), informers.WithTransform(o.Transform))
	return &factory{SharedInformerFactory: base, source: source, options: perInformer}, nil
}

// perInformer returns the options of each informer, without selectors.
func (o FactoryOptions) perInformer() Options {
	return Options{Namespace: o.Namespace, Resync: o.Resync, Lazy: o.Lazy, Mutations: o.Mutations,
		Indexers: cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}}
}

// tweak calls a function with empty options, and takes over the selectors that it sets.
func (o *Options) tweak(tweak func(*metav1.ListOptions)) (err error) {
	if tweak == nil {
		return nil
	}
	var list metav1.ListOptions
	tweak(&list)
	if o.Labels, err = labels.Parse(list.LabelSelector); err != nil {
		return fmt.Errorf("the label selector %q of a factory: %w", list.LabelSelector, err)
	}
	if o.Fields, err = fields.ParseSelector(list.FieldSelector); err != nil {
		return fmt.Errorf("the field selector %q of a factory: %w", list.FieldSelector, err)
	}
	return nil
}

// factory implements one of client-go's informer factories with our informers. The factory of client-go still
// decides which informers exist, run and are synced.
type factory struct {
	informers.SharedInformerFactory
	source  client.Source
	options Options
}

// InformerFor returns the informer of a type. If there is none yet, newFunc creates it, unless the type is built in.
func (f *factory) InformerFor(obj runtime.Object,
	newFunc internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	if resource, ok := resourceOf(obj); ok {
		newFunc = func(_ kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
			options := f.options
			options.Resync = resync
			if clusterScoped[resource.GroupResource()] {
				options.Namespace = ""
			}
			return New(f.source, resource, obj, options)
		}
	}
	return f.SharedInformerFactory.InformerFor(obj, newFunc)
}

// ForResource returns the informer of a built-in resource.
func (f *factory) ForResource(resource schema.GroupVersionResource) (informers.GenericInformer, error) {
	obj, ok := exampleOf(resource)
	if !ok {
		return nil, fmt.Errorf("%s is not a built-in resource: use NewDynamicSharedInformerFactory", resource)
	}
	return generic{f.InformerFor(obj, nil), resource.GroupResource()}, nil
}

// generic is an informer of a resource whose type its user does not know.
type generic struct {
	informer cache.SharedIndexInformer
	resource schema.GroupResource
}

// Informer implements informers.GenericInformer.
func (g generic) Informer() cache.SharedIndexInformer { return g.informer }

// Lister implements informers.GenericInformer.
func (g generic) Lister() cache.GenericLister {
	return cache.NewGenericLister(g.informer.GetIndexer(), g.resource)
}

package controllerruntime

import (
	"context"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/bowline-dev/bowline/adapters/clientgo"
	"github.com/bowline-dev/bowline/client"
)

// NewCache returns a cache as cache.New does, with Bowline's informers. They read from the server of config over the
// network. Pass NewCache as manager.Options.NewCache. It returns an error if config or options are invalid.
func NewCache(config *rest.Config, options cache.Options) (cache.Cache, error) {
	c, err := client.New(config)
	if err != nil {
		return nil, err
	}
	return On(client.NewSource(c))(config, options)
}

// On is like NewCache for informers that read from source, such as bowline.Plane.Source. source must belong to the
// server that the manager uses. If cache.Options.NewInformer is set, as in tests with fake informers, the cache uses
// those informers instead.
func On(source client.Source) cache.NewCacheFunc {
	return func(config *rest.Config, options cache.Options) (cache.Cache, error) {
		if options.NewInformer != nil {
			return cache.New(config, options)
		}
		if options.HTTPClient == nil {
			c, err := rest.HTTPClientFor(config)
			if err != nil {
				return nil, err
			}
			options.HTTPClient = c
		}
		options.HTTPClient = withRecorder(options.HTTPClient)
		log := slog.New(logr.ToSlogHandler(ctrllog.Log.WithName("cache")))
		options.NewInformer = func(lw toolscache.ListerWatcher, example runtime.Object, resync time.Duration,
			indexers toolscache.Indexers) toolscache.SharedIndexInformer {
			selected, err := selectionOf(lw)
			if err != nil {
				return clientgo.New(broken{err}, selected.resource, example, clientgo.Options{Log: log})
			}
			return clientgo.New(source, selected.resource, example, clientgo.Options{
				Namespace: selected.namespace, Labels: selected.labels, Fields: selected.fields,
				Resync: resync, Indexers: indexers, Log: log,
			})
		}
		return cache.New(config, options)
	}
}

// broken is a Source that always returns err. An informer whose selection cannot be determined uses it to report err.
type broken struct{ err error }

func (b broken) List(context.Context, schema.GroupVersionResource, client.Options) (client.List, error) {
	return client.List{}, b.err
}

func (b broken) Watch(context.Context, schema.GroupVersionResource, client.Options) (client.Watch, error) {
	return nil, b.err
}

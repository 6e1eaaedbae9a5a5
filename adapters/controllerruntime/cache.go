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

// NewCache replaces cache.New. Its informers read from the server of config over the network. It returns an error
// if config or options are invalid.
func NewCache(config *rest.Config, options cache.Options) (cache.Cache, error) {
	c, err := client.New(config)
	if err != nil {
		return nil, err
	}
	return On(client.NewSource(c))(config, options)
}

// On returns a NewCacheFunc whose informers read from source, which must belong to the server that the manager
// uses. If cache.Options.NewInformer is set, as in tests with fake informers, those informers are used instead.
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
			wanted, err := selectionOf(lw)
			if err != nil {
				return clientgo.New(broken{err}, wanted.resource, example, clientgo.Options{Log: log})
			}
			return clientgo.New(source, wanted.resource, example, clientgo.Options{
				Namespace: wanted.namespace, Labels: wanted.labels, Fields: wanted.fields,
				Resync: resync, Indexers: indexers, Log: log,
			})
		}
		return cache.New(config, options)
	}
}

// broken is a source that always fails: an informer that cannot be created reports its error through it.
type broken struct{ err error }

func (b broken) List(context.Context, schema.GroupVersionResource, client.Options) (client.List, error) {
	return client.List{}, b.err
}

func (b broken) Watch(context.Context, schema.GroupVersionResource, client.Options) (client.Watch, error) {
	return nil, b.err
}

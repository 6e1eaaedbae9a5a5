package aggregate

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/client"
)

// Source returns a source of the objects of this server and of the aggregated ones. local is that of this server's own
// objects, and config that of a client of this server, whose requests are forwarded.
func (a *Aggregator) Source(local client.Source, config *rest.Config) client.Source {
	return &source{a, local, sync.OnceValues(func() (client.Source, error) {
		c, err := client.New(config)
		if err != nil {
			return nil, err
		}
		return client.NewSource(c), nil
	})}
}

// source implements client.Source.
type source struct {
	aggregator *Aggregator
	local      client.Source
	forwarded  func() (client.Source, error)
}

// of returns the source of a resource.
func (s *source) of(gvr schema.GroupVersionResource) (client.Source, error) {
	if s.aggregator.Find("/apis/"+gvr.Group+"/"+gvr.Version) == nil {
		return s.local, nil
	}
	return s.forwarded()
}

// List implements client.Source.
func (s *source) List(ctx context.Context, gvr schema.GroupVersionResource, o client.Options) (client.List, error) {
	of, err := s.of(gvr)
	if err != nil {
		return client.List{}, err
	}
	return of.List(ctx, gvr, o)
}

// Watch implements client.Source.
func (s *source) Watch(ctx context.Context, gvr schema.GroupVersionResource, o client.Options) (client.Watch, error) {
	of, err := s.of(gvr)
	if err != nil {
		return nil, err
	}
	return of.Watch(ctx, gvr, o)
}

package clientgo

import (
	"context"
	"io"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/object"
)

// reporting is a source that tells what an informer hears: how far it is, and what goes wrong.
type reporting struct {
	client.Source
	resource schema.GroupVersionResource
	narrow   func(client.Options) client.Options
	last     atomic.Uint64
	failed   func(ctx context.Context, err error)
}

// heard notes the revisions of events, in whatever order they come. One informer's goroutine calls it.
func (s *reporting) heard(events []client.Event) {
	for _, event := range events {
		s.last.Store(max(s.last.Load(), uint64(event.Revision)))
	}
}

// revision is the latest that was heard of, empty before the first list.
func (s *reporting) revision() string {
	if last := s.last.Load(); last > 0 {
		return object.Revision(last).String()
	}
	return ""
}

// report tells of an error, unless it is the end that the informer itself wanted, or that of a watch in good order.
func (s *reporting) report(ctx context.Context, resource schema.GroupVersionResource, err error) {
	if err != nil && err != io.EOF && ctx.Err() == nil && resource == s.resource {
		s.failed(ctx, err)
	}
}

// List implements client.Source.
func (s *reporting) List(ctx context.Context, resource schema.GroupVersionResource, options client.Options) (client.List, error) {
	if resource == s.resource {
		options = s.narrow(options)
	}
	list, err := s.Source.List(ctx, resource, options)
	s.report(ctx, resource, err)
	if err != nil || resource != s.resource {
		return list, err
	}
	s.last.Store(uint64(list.Revision)) // a server that was restored may be behind itself
	if list.Following != nil {
		list.Following = reportingWatch{list.Following, s}
	}
	return list, nil
}

// Watch implements client.Source.
func (s *reporting) Watch(ctx context.Context, resource schema.GroupVersionResource, options client.Options) (client.Watch, error) {
	if resource == s.resource {
		options = s.narrow(options)
	}
	watching, err := s.Source.Watch(ctx, resource, options)
	s.report(ctx, resource, err)
	if err != nil || resource != s.resource {
		return watching, err
	}
	return reportingWatch{watching, s}, nil
}

type reportingWatch struct {
	client.Watch
	source *reporting
}

// Next implements client.Watch.
func (w reportingWatch) Next(ctx context.Context) ([]client.Event, error) {
	events, err := w.Watch.Next(ctx)
	w.source.report(ctx, w.source.resource, err)
	w.source.heard(events)
	return events, err
}

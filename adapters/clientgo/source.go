package clientgo

import (
	"context"
	"io"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
)

// reporting is a source that reports its errors to an informer.
type reporting struct {
	client.Source
	resource schema.GroupVersionResource
	narrow   func(client.Options) client.Options
	failed   func(ctx context.Context, err error)
}

// report reports an error, unless the informer was stopped or a watch ended regularly.
func (s *reporting) report(ctx context.Context, resource schema.GroupVersionResource, err error) {
	if err != nil && err != io.EOF && ctx.Err() == nil && resource == s.resource {
		s.failed(ctx, err)
	}
}

// List implements client.Source.
func (s *reporting) List(ctx context.Context, resource schema.GroupVersionResource,
	options client.Options) (client.List, error) {
	if resource == s.resource {
		options = s.narrow(options)
	}
	list, err := s.Source.List(ctx, resource, options)
	s.report(ctx, resource, err)
	if err != nil || resource != s.resource {
		return list, err
	}
	if list.Following != nil {
		list.Following = reportingWatch{list.Following, s}
	}
	return list, nil
}

// Watch implements client.Source.
func (s *reporting) Watch(ctx context.Context, resource schema.GroupVersionResource,
	options client.Options) (client.Watch, error) {
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
	return events, err
}

package clientgo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
)

// faults stand between informers and the plane.
type faults struct {
	mu         sync.Mutex
	connection context.Context // ended while the server is unreachable
	cutOff     context.CancelFunc
	isDown     bool
	refused    error
}

// cut ends all watches, and has every request fail until mend. That its revision is too old, only a watch can be told.
func (f *faults) cut(refused error) {
	f.now()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.isDown, f.refused = true, refused
	f.cutOff()
	f.connection = nil
}

// requestError returns the error of a request that fails.
func (f *faults) requestError(resumes bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if apierrors.IsResourceExpired(f.refused) && !resumes {
		return apierrors.NewServiceUnavailable("down")
	}
	return f.refused
}

func (f *faults) mend() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.isDown = false
}

// now is the context of what begins now, and whether it may.
func (f *faults) now() (up context.Context, down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.connection == nil {
		f.connection, f.cutOff = context.WithCancel(context.Background())
	}
	return f.connection, f.isDown
}

// bound is ctx until the plane is cut off.
func bound(ctx, up context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(up, cancel)
	return ctx, func() { stop(); cancel() }
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(q *http.Request) (*http.Response, error) { return f(q) }

// body ends its request when it is closed.
type body struct {
	io.ReadCloser
	end context.CancelFunc
}

func (b body) Close() error {
	b.end()
	return b.ReadCloser.Close()
}

// wrap is the way over the wire.
func (f *faults) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(q *http.Request) (*http.Response, error) {
		up, down := f.now()
		if down {
			query := q.URL.Query()
			status := f.requestError(query.Get("watch") != "" &&
				query.Get("sendInitialEvents") == "").(*apierrors.StatusError).ErrStatus
			data, err := json.Marshal(&status)
			if err != nil {
				return nil, err
			}
			return &http.Response{StatusCode: int(status.Code),
				Header: http.Header{"Content-Type": {"application/json"}},
				Body:   io.NopCloser(bytes.NewReader(data)), Request: q}, nil
		}
		ctx, end := bound(q.Context(), up)
		answer, err := next.RoundTrip(q.WithContext(ctx))
		if err != nil {
			end()
			return nil, err
		}
		answer.Body = body{answer.Body, end}
		return answer, nil
	})
}

// source is the way in process.
func (f *faults) source(next client.Source) client.Source { return faultySource{next, f} }

type faultySource struct {
	client.Source
	faults *faults
}

func (s faultySource) List(ctx context.Context, resource schema.GroupVersionResource,
	options client.Options) (client.List, error) {
	if _, down := s.faults.now(); down {
		return client.List{}, s.faults.requestError(false)
	}
	return s.Source.List(ctx, resource, options)
}

func (s faultySource) Watch(ctx context.Context, resource schema.GroupVersionResource,
	options client.Options) (client.Watch, error) {
	up, down := s.faults.now()
	if down {
		return nil, s.faults.requestError(true)
	}
	watching, err := s.Source.Watch(ctx, resource, options)
	return faultyWatch{watching, up}, err
}

type faultyWatch struct {
	client.Watch
	connection context.Context
}

func (w faultyWatch) Next(ctx context.Context) ([]client.Event, error) {
	bounded, end := bound(ctx, w.connection)
	defer end()
	events, err := w.Watch.Next(bounded)
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		err = io.ErrUnexpectedEOF
	}
	return events, err
}

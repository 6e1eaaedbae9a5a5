package client

import (
	"context"
	"errors"
	"io"
	"time"

	"k8s.io/client-go/rest"
)

// silence is how long a server may send nothing before the connection is considered dead. Servers send a
// bookmark each minute on an idle watch.
const silence = 3 * time.Minute

var errSilence = errors.New("the server has sent nothing for " + silence.String())

// patience is a response body that fails if the server sends nothing for too long.
type patience struct {
	body   io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

// open sends a request and returns the response body, to be read as it arrives. The request ends with ctx,
// when the body is closed, or after a silence. It is not retried; that is up to the caller.
func open(ctx context.Context, q *rest.Request) (io.ReadCloser, error) {
	p := &patience{}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	p.timer = time.AfterFunc(silence, func() { p.cancel(errSilence) })
	body, err := q.MaxRetries(0).Stream(p.ctx)
	if err != nil {
		p.timer.Stop()
		err = p.cause(err)
		p.cancel(nil)
		return nil, err
	}
	p.body = body
	return p, nil
}

// Read resets the timer whenever data arrives.
func (p *patience) Read(b []byte) (int, error) {
	n, err := p.body.Read(b)
	if n > 0 {
		p.timer.Reset(silence)
	}
	return n, p.cause(err)
}

// cause replaces err by errSilence if that is why the request was canceled.
func (p *patience) cause(err error) error {
	if err != nil && context.Cause(p.ctx) == errSilence {
		return errSilence
	}
	return err
}

// Close cancels the request.
func (p *patience) Close() error {
	p.timer.Stop()
	p.cancel(nil)
	return p.body.Close()
}

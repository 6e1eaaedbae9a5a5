package client

import (
	"context"
	"errors"
	"io"
	"time"

	"k8s.io/client-go/rest"
)

// idleTimeout is the time without data after which a connection is considered dead. Servers send a
// bookmark each minute on an idle watch.
const idleTimeout = 3 * time.Minute

var errIdle = errors.New("the server has sent nothing for " + idleTimeout.String())

// idleTimeoutBody is a response body whose Read fails if the server sends nothing for idleTimeout.
type idleTimeoutBody struct {
	body   io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

// open sends a request and returns the response body, to be read as it arrives. The request ends with ctx,
// when the body is closed, or after idleTimeout without data. It is not retried; that is up to the caller.
func open(ctx context.Context, q *rest.Request) (io.ReadCloser, error) {
	p := &idleTimeoutBody{}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	p.timer = time.AfterFunc(idleTimeout, func() { p.cancel(errIdle) })
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
func (p *idleTimeoutBody) Read(b []byte) (int, error) {
	n, err := p.body.Read(b)
	if n > 0 {
		p.timer.Reset(idleTimeout)
	}
	return n, p.cause(err)
}

// cause returns errIdle instead of err if the request was canceled after idleTimeout.
func (p *idleTimeoutBody) cause(err error) error {
	if err != nil && context.Cause(p.ctx) == errIdle {
		return errIdle
	}
	return err
}

// Close cancels the request.
func (p *idleTimeoutBody) Close() error {
	p.timer.Stop()
	p.cancel(nil)
	return p.body.Close()
}

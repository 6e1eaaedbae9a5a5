package client

import (
	"context"
	"errors"
	"io"
	"time"

	"k8s.io/client-go/rest"
)

// silence is how long a server may send nothing before the connection counts as dead. Those who have nothing else to say
// on a watch send a bookmark each minute.
const silence = 3 * time.Minute

var errSilence = errors.New("the server has sent nothing for " + silence.String())

// patience is a body that ends when the server has been silent for too long.
type patience struct {
	body   io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

// open sends a request and returns the body of its answer, to be read as it arrives. The request ends with ctx, with the
// body's Close, or after a silence. It is not repeated: who asks knows better when to ask again.
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

// Read reads, and begins the wait anew.
func (p *patience) Read(b []byte) (int, error) {
	n, err := p.body.Read(b)
	if n > 0 {
		p.timer.Reset(silence)
	}
	return n, p.cause(err)
}

// cause says why a request was cut off, if it was.
func (p *patience) cause(err error) error {
	if err != nil && context.Cause(p.ctx) == errSilence {
		return errSilence
	}
	return err
}

// Close ends the request.
func (p *patience) Close() error {
	p.timer.Stop()
	p.cancel(nil)
	return p.body.Close()
}

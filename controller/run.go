package controller

import "context"

// run is one reconciliation: what caused it, and what came of it.
type run struct {
	request Request
	causes  causes
}

// begin takes the causes of a request that is about to be worked on. The context carries the run.
func (c *Controller) begin(ctx context.Context, request Request) (context.Context, *run) {
	r := &run{request: request}
	r.causes, _ = c.in.take(request)
	return ctx, r
}

// end says what came of a run.
func (c *Controller) end(_ *run, _ Result, _ error) {}

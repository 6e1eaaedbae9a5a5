package bowline

import (
	"context"
	"errors"
	"fmt"
)

// errForkStorage refuses a fork on a storage of its own.
var errForkStorage = errors.New("a fork of a plane shares memory with it, and cannot be kept elsewhere: leave Options.Storage as it is")

// Fork starts a second plane with the state that this one has now: to try out what a change would do. The two share memory
// until one of them is written to, so that a fork of many objects costs no more than one of few, and are independent in
// everything else: each has its own API, definitions, watches and end, and either may be closed first. ctx bounds the start
// alone.
//
// A fork runs no controllers and opens no socket, since two planes must not fight over what is real, unless a change of the
// options says so. The other options are those that this plane was started with; its admission plugins are asked by both. A
// fork lives in memory. It has the plane's identity, which is part of the state, whatever Options.ID says. Its revisions
// begin far above the plane's, none of which it answers for: who watched the plane and goes on with a fork lists again.
func (p *Plane) Fork(ctx context.Context, change ...func(*Options)) (*Plane, error) {
	o := p.options
	o.Storage, o.AsIs, o.Listen, o.TLS, o.Controllers = nil, true, "", nil, []string{}
	for _, c := range change {
		c(&o)
	}
	if o.Storage != nil {
		return nil, errors.Join(errForkStorage, o.Storage.Close())
	}
	var err error
	if o.Controllers, err = choose(o.Controllers); err != nil {
		return nil, err
	}
	state, err := p.store.Fork(ctx)
	if err != nil {
		return nil, fmt.Errorf("forking the control plane: %w", err)
	}
	return begin(ctx, o, state, p.server)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/internal/store"
)

// knownControllers are the names that the library's --controllers may mention.
func knownControllers() []string { return bowline.Controllers() }

// startPlane starts the library as a process needs it: on a socket, over TLS, and known again after a restart. The storage
// is the plane's from then on.
func (p *upPlan) startPlane(ctx context.Context, home *home, kept *storage) (*bowline.Plane, error) {
	options := bowline.Options{
		Listen:      p.flags.listen,
		TLS:         home.keys.ServerConfig(),
		Authority:   home.keys.AuthorityPEM(),
		Controllers: p.controllers.list,
		Log:         p.log,

		TracerProvider: p.traces,
	}
	if kept != nil {
		options.ID, options.Storage, options.AcceptDamage = kept.planeID, kept, p.flags.acceptDamage
	}
	plane, err := bowline.Start(ctx, options)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is in use by another program: stop that one, or choose another address with --listen "+
			"(port 0 takes any free one)", p.flags.listen)
	}
	var damaged *store.DamagedError
	if errors.As(err, &damaged) {
		return nil, fmt.Errorf("%w\nNothing was changed. Make another folder of a backup with bowline restore, or serve all the "+
			"rest, and delete what is damaged, with --accept-damage; bowline verify --data looks through everything", err)
	}
	if err != nil {
		return nil, err
	}
	if kept != nil {
		if err := kept.keepIdentity(); err != nil {
			return nil, errors.Join(err, plane.Close())
		}
	}
	return plane, nil
}

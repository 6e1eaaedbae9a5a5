package bowline

import (
	"context"
	"errors"
	"fmt"

	"github.com/bowline-dev/bowline/internal/plugins"
)

// errForkStorage is returned for a fork with Options.Storage.
var errForkStorage = errors.New("a fork shares memory with its plane and cannot have its own storage: do not set " +
	"Options.Storage")

// Fork starts a second plane with the current state of this one, to try out a change. The two planes share each
// object until one of them changes it, so the cost of a fork does not depend on the number of objects. Everything
// else is independent: the API, the definitions, the watches and the lifetime; either may be closed first. ctx bounds
// the start only.
//
// The fork inherits the options of this plane, including its admission plugins, but runs no controllers and opens no
// socket unless change sets them, so that two planes do not act on the same external systems. It is always in memory:
// Fork fails, and closes the Storage, if change sets one. Its identity is part of the forked state, so Options.ID has
// no effect. It signs the tokens of service accounts with its own key: see Options.TokenKey. Its revisions start far
// above those of this plane, and it serves no older revision: a client that resumes a watch of this plane at a fork
// receives 410 Gone and lists again.
func (p *Plane) Fork(ctx context.Context, change ...func(*Options)) (*Plane, error) {
	o := p.options
	o.Storage, o.SkipBootstrap, o.Listen, o.TLS, o.Controllers = nil, true, "", nil, []string{NoControllers}
	// An administrator of the fork is not one of this plane.
	o.TokenKey, o.FrontProxy, o.FrontProxyAuthority = nil, nil, nil
	for _, c := range change {
		c(&o)
	}
	if o.Storage != nil {
		return nil, errors.Join(errForkStorage, o.Storage.Close())
	}
	var err error
	if o.Controllers, err = selectControllers(o.Controllers); err == nil {
		err = plugins.Check(o.Admission)
	}
	var settings plugins.Settings
	if err == nil {
		settings, err = plugins.ReadSettings(o.AdmissionConfig, o.Admission)
	}
	if err == nil {
		err = checkAPI(o.API, o.Controllers)
	}
	if err == nil {
		o.TokenKey, err = tokenKey(o.TokenKey)
	}
	if err != nil {
		return nil, err
	}
	state, err := p.store.Fork(ctx)
	if err != nil {
		return nil, fmt.Errorf("forking the control plane: %w", err)
	}
	return newPlane(ctx, o, settings, state, p)
}

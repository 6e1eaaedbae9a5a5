package up

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/serve"
	"github.com/bowline-dev/bowline/internal/store"
)

// startPlane starts a plane that listens on a TLS socket and, if its objects are on disk, has the same
// identity after a restart. It transfers ownership of storage to the plane.
func (p *plan) startPlane(ctx context.Context, home *serve.Home, stored *storage) (*bowline.Plane, error) {
	options := bowline.Options{
		Listen:     p.flags.listen,
		TLS:        home.Certificates.ServerConfig(),
		Authority:  home.Certificates.AuthorityPEM(),
		Kubelets:   home.Certificates.KubeletConfig(),
		FrontProxy: home.Certificates.FrontProxy().Config(),
		TokenKey:   home.Certificates.TokenKey(),

		FrontProxyAuthority: home.Certificates.FrontProxy().AuthorityPEM(),
		Controllers:         serve.PlaneControllers(p.controllers.List),
		Admission:           p.controllers.Admission(p.flags.admission),
		API:                 p.flags.api,

		AdmissionConfig: p.flags.admissionConfig,
		Logger:          p.log,

		MaxBytes:          p.maxBytes,
		MaxNamespaceBytes: p.maxNamespaceBytes,

		TracerProvider: p.traces,
	}
	if stored != nil {
		options.ID, options.Storage, options.AcceptDamage = stored.planeID, stored, p.flags.acceptDamage
	}
	plane, err := bowline.Start(ctx, options)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil,
			fmt.Errorf("%s is in use by another program: stop it, or choose another address with --listen "+
				"(port 0 selects a free port)", p.flags.listen)
	}
	var damaged *store.DamagedError
	if errors.As(err, &damaged) {
		return nil,
			fmt.Errorf("%w\nNothing was changed. Restore a backup into another folder with bowline restore, or "+
				"serve the "+
				"other objects and delete the damaged ones with --accept-damage; bowline verify --data checks all "+
				"objects", err)
	}
	if err != nil {
		return nil, err
	}
	if stored != nil {
		if err := stored.writeIdentity(); err != nil {
			return nil, errors.Join(err, plane.Close())
		}
	}
	return plane, nil
}

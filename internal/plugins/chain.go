// Package plugins has the built-in admission plugins and the chain that calls plugins for a write. Select returns the
// plugins that a server runs: by default those for namespaces, limit ranges, the taint of new nodes, the security of
// pods, priorities, default tolerations, the classes of storage, runtimes and ingresses, the protection and growth of
// storage, the rights for signers, topology labels, resizes, initializers and quotas; the others must be turned on.
// ReadSettings reads the file that configures some of them. Package admission defines the interface of plugins, package
// webhook has the plugins that call webhooks, imagepolicy the one that asks about images, and package policy the one
// that applies admission policies.
package plugins

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bowline-dev/bowline/admission"
)

// Chain calls plugins in order. It is safe for concurrent use.
type Chain struct {
	plugins []admission.Plugin
	state   admission.Reader
}

// NewChain returns a chain of plugins that read the server's objects from state.
func NewChain(state admission.Reader, plugins ...admission.Plugin) *Chain {
	return &Chain{plugins: plugins, state: state}
}

// Admit calls Admit on each plugin that handles the write, and on all of them once more if one set
// Attributes.Reinvoke. It stops at the first error.
func (c *Chain) Admit(ctx context.Context, a *admission.Attributes) error {
	admit := func(p admission.Plugin) error { return p.Admit(ctx, a, c.state) }
	if err := c.forEach(a, admit); err != nil || !a.Reinvoke {
		return err
	}
	a.Round = 1
	return c.forEach(a, admit)
}

// Validate calls Validate on each plugin that handles the write. It stops at the first error.
func (c *Chain) Validate(ctx context.Context, a *admission.Attributes) error {
	return c.forEach(a, func(p admission.Plugin) error { return p.Validate(ctx, a, c.state) })
}

func (c *Chain) forEach(a *admission.Attributes, ask func(admission.Plugin) error) error {
	for _, p := range c.plugins {
		if !p.Handles(a.Operation, a.Resource.GroupResource(), a.Subresource) {
			continue
		}
		if err := ask(p); err != nil {
			return clientError(p, err)
		}
	}
	return nil
}

// clientError returns the error for the client: a Status or a context error unchanged, any other error as a 500
// that names the plugin.
func clientError(p admission.Plugin, err error) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return apierrors.NewInternalError(fmt.Errorf("admission plugin %q failed: %w", p.Name(), err))
}

package network

import (
	"context"
	"io"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/examples/network/provider"
)

// lateProvider is a provider for a cloud that did not answer when the program started. Each call tries to log in.
// Until that succeeds, calls fail with the error of the login, so that the status of Networks shows it.
type lateProvider struct {
	name, plane string
	login       func(context.Context) (provider.Provider, error)

	mu sync.Mutex
	// current is the provider after the login; nil before.
	current provider.Provider
	// loginErr is the error of the last login, which calls return until retryAt.
	loginErr error
	retryAt  time.Time
}

// loginInterval is how long the error of a failed login is cached, so that an unavailable cloud does not receive one
// login for each Network.
const loginInterval = time.Second

// provider logs in unless that has been done.
func (l *lateProvider) provider(ctx context.Context) (provider.Provider, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current != nil {
		return l.current, nil
	}
	if l.loginErr != nil && time.Now().Before(l.retryAt) {
		return nil, l.loginErr
	}
	p, err := l.login(ctx)
	if ctx.Err() == nil {
		l.current, l.loginErr, l.retryAt = p, err, time.Now().Add(loginInterval)
	}
	return p, err
}

// loggedIn returns the provider, or nil before the login.
func (l *lateProvider) loggedIn() provider.Provider {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current
}

// Name implements provider.Provider.
func (l *lateProvider) Name() string { return l.name }

// ID implements provider.Provider.
func (l *lateProvider) ID(uid types.UID) string { return provider.ID(l.plane, uid) }

// Alias implements provider.Aliaser.
func (l *lateProvider) Alias(uid types.UID) string {
	if a, ok := l.loggedIn().(provider.Aliaser); ok {
		return a.Alias(uid)
	}
	return ""
}

// List implements provider.Provider.
func (l *lateProvider) List(ctx context.Context) ([]types.UID, error) {
	p, err := l.provider(ctx)
	if err != nil {
		return nil, err
	}
	return p.List(ctx)
}

// Get implements provider.Provider.
func (l *lateProvider) Get(ctx context.Context, uid types.UID) (provider.Actual, error) {
	p, err := l.provider(ctx)
	if err != nil {
		return provider.Actual{}, err
	}
	return p.Get(ctx, uid)
}

// Apply implements provider.Provider.
func (l *lateProvider) Apply(ctx context.Context, want provider.Network) error {
	p, err := l.provider(ctx)
	if err != nil {
		return err
	}
	return p.Apply(ctx, want)
}

// Delete implements provider.Provider.
func (l *lateProvider) Delete(ctx context.Context, uid types.UID) error {
	p, err := l.provider(ctx)
	if err != nil {
		return err
	}
	return p.Delete(ctx, uid)
}

// Watch implements provider.Provider.
func (l *lateProvider) Watch(ctx context.Context, changed func(types.UID)) error {
	p, err := l.provider(ctx)
	if err != nil {
		return err
	}
	return p.Watch(ctx, changed)
}

// Close closes the provider, if there is one and it is an io.Closer.
func (l *lateProvider) Close() error {
	if c, ok := l.loggedIn().(io.Closer); ok {
		return c.Close()
	}
	return nil
}

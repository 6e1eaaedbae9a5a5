package network

import (
	"context"
	"io"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/examples/network/provider"
)

// late is a provider of a cloud that did not answer when the program began. Until somebody can log in there each call fails
// with why not, so that the Networks say it; the first call that finds the cloud back logs in for all.
type late struct {
	name, plane string
	login       func(context.Context) (provider.Provider, error)

	mu sync.Mutex
	// in is the provider, once there is one.
	in provider.Provider
	// why is how the last login failed, and until when that is believed.
	why   error
	until time.Time
}

// again is how long a failed login stands for all who call: a cloud that is away is not asked once for each Network.
const again = time.Second

// provider logs in unless somebody has.
func (l *late) provider(ctx context.Context) (provider.Provider, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.in != nil {
		return l.in, nil
	}
	if l.why != nil && time.Now().Before(l.until) {
		return nil, l.why
	}
	p, err := l.login(ctx)
	if ctx.Err() == nil {
		l.in, l.why, l.until = p, err, time.Now().Add(again)
	}
	return p, err
}

// loggedIn is the provider, nil while nobody has logged in.
func (l *late) loggedIn() provider.Provider {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.in
}

// Name implements provider.Provider.
func (l *late) Name() string { return l.name }

// ID implements provider.Provider.
func (l *late) ID(uid types.UID) string { return provider.ID(l.plane, uid) }

// Alias implements provider.Aliaser.
func (l *late) Alias(uid types.UID) string {
	if a, ok := l.loggedIn().(provider.Aliaser); ok {
		return a.Alias(uid)
	}
	return ""
}

// List implements provider.Provider.
func (l *late) List(ctx context.Context) ([]types.UID, error) {
	p, err := l.provider(ctx)
	if err != nil {
		return nil, err
	}
	return p.List(ctx)
}

// Get implements provider.Provider.
func (l *late) Get(ctx context.Context, uid types.UID) (provider.Actual, error) {
	p, err := l.provider(ctx)
	if err != nil {
		return provider.Actual{}, err
	}
	return p.Get(ctx, uid)
}

// Apply implements provider.Provider.
func (l *late) Apply(ctx context.Context, want provider.Network) error {
	p, err := l.provider(ctx)
	if err != nil {
		return err
	}
	return p.Apply(ctx, want)
}

// Delete implements provider.Provider.
func (l *late) Delete(ctx context.Context, uid types.UID) error {
	p, err := l.provider(ctx)
	if err != nil {
		return err
	}
	return p.Delete(ctx, uid)
}

// Watch implements provider.Provider.
func (l *late) Watch(ctx context.Context, changed func(types.UID)) error {
	p, err := l.provider(ctx)
	if err != nil {
		return err
	}
	return p.Watch(ctx, changed)
}

// Close ends what the provider has, if there is one.
func (l *late) Close() error {
	if c, ok := l.loggedIn().(io.Closer); ok {
		return c.Close()
	}
	return nil
}

package neutron

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/examples/network/provider"
	"github.com/bowline-dev/bowline/examples/network/provider/neutron/neutrontest"
)

// slow delays each request by a second, so that many callers arrive meanwhile.
func slow(q *http.Request) (*http.Response, error) {
	select {
	case <-time.After(time.Second):
		return nil, nil
	case <-q.Context().Done():
		return nil, q.Context().Err()
	}
}

// Of fifty concurrent reads the first may have its own requests; all others share theirs.
func TestConcurrentReadsShareRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorded()
		p := r.provider(t)
		apply(t, p, wanted("uid-7", "10.1.0.0/16", "10.1.0.1"))
		r.disturb(slow)
		r.took()
		var wg sync.WaitGroup
		for n := range 50 {
			wg.Go(func() {
				_, err := p.Get(t.Context(), types.UID(fmt.Sprint("uid-", n)))
				if missing := errors.Is(err, provider.ErrNotFound); missing != (n != 7) {
					t.Errorf("uid-%d: %v", n, err)
				}
			})
		}
		wg.Wait()
		if took := len(r.took()); took != 2 && took != 4 { // 4 if the first read began before the others arrived
			t.Errorf("got %d requests", took)
		}
	})
}

// A read that began before a call does not answer it.
func TestReadStartsAfterCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorded()
		p := r.provider(t)
		r.disturb(slow)
		early := make(chan error)
		go func() {
			_, err := p.Get(t.Context(), "uid")
			early <- err
		}()
		time.Sleep(1500 * time.Millisecond) // between reading the networks and reading the subnets
		r.disturb(nil)
		other, err := New(plane, r.Fake.Client(project), Options{})
		must(t, err)
		must(t, other.Apply(t.Context(), wanted("uid", "10.1.0.0/16", "10.1.0.1")))
		if _, err := p.Get(t.Context(), "uid"); err != nil {
			t.Errorf("the read does not include a network created before it: %v", err)
		}
		<-early // its result is not relevant
	})
}

// A caller that stops waiting does not cancel the request for the other callers.
func TestCanceledCallerDoesNotCancelOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorded()
		p := r.provider(t)
		r.disturb(slow)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for n, ctx := range []context.Context{ctx, ctx, t.Context()} {
			wg.Go(func() {
				if _, err := p.Get(ctx, "uid"); n < 2 && !errors.Is(err, context.Canceled) || n == 2 &&
					!errors.Is(err, provider.ErrNotFound) {
					t.Errorf("caller %d: %v", n, err)
				}
			})
		}
		synctest.Wait()
		cancel()
		wg.Wait()
	})
}

// Networks that are created concurrently share a request. If the quota permits only some of them, as many as
// it permits are created.
func TestQuotaForSomeNetworks(t *testing.T) {
	t.Parallel()
	var fake neutrontest.Fake
	admin := fake.ClientAs(project, neutrontest.Admin)
	_, err := admin.Put(t.Context(), admin.ServiceURL("quotas", project),
		map[string]any{"quota": map[string]any{"network": 3}}, &struct{}{},
		&gophercloud.RequestOpts{OkCodes: []int{http.StatusOK}})
	must(t, err)
	p, err := New(plane, fake.Client(project), Options{})
	must(t, err)
	var wg sync.WaitGroup
	var mu sync.Mutex
	refused := map[types.UID]bool{}
	for n := range 5 {
		uid := types.UID(fmt.Sprint("uid-", n))
		wg.Go(func() {
			if err := p.Apply(t.Context(), wanted(uid, "10.1.0.0/16", "10.1.0.1")); err != nil {
				if reason, message := reasonOf(t, err); reason != provider.QuotaExceeded {
					t.Errorf("%s: %s, %s", uid, reason, message)
				}
				mu.Lock()
				defer mu.Unlock()
				refused[uid] = true
			}
		})
	}
	wg.Wait()
	made, err := p.List(t.Context())
	if err != nil || len(made) != 3 || len(refused) != 2 || slices.ContainsFunc(made, func(uid types.UID) bool {
		return refused[uid]
	}) {
		t.Errorf("with a quota of 3 for 5 networks: created %q, %v, refused %v", made, err, refused)
	}
	must(t, p.Delete(t.Context(), made[0]))
	for uid := range refused {
		must(t, p.Apply(t.Context(), wanted(uid, "10.1.0.0/16", "10.1.0.1")))
		break
	}
	must(t, p.(io.Closer).Close())
}

package server_test

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// overtakenLog is a log on which another writer commits before the first append.
type overtakenLog struct {
	log.Log
	once  sync.Once
	other func()
}

func (l *overtakenLog) Append(ctx context.Context, commits []log.Commit) error {
	l.once.Do(l.other)
	return l.Log.Append(ctx, commits)
}

// TestStartSucceedsIfAnotherServerCreatesInitialObject starts two servers that share a log. The second one
// creates the initial object after the first one has found it absent, so that the first one's commit conflicts.
func TestStartSucceedsIfAnotherServerCreatesInitialObject(t *testing.T) {
	t.Parallel()
	for _, initial := range builtin.Initial("", netip.MustParseAddrPort("10.1.0.1:6443")) {
		if initial.OnlyCorrect {
			continue
		}
		gvk := initial.Object.GetObjectKind().GroupVersionKind()
		t.Run(gvk.Kind+" "+initial.Object.GetName(), func(t *testing.T) {
			t.Parallel()
			startOn := func(l log.Log) error {
				state, err := store.New(t.Context(), l, store.Options{})
				if err != nil {
					return err
				}
				srv, err := server.New(t.Context(), server.Options{
					Store: state, Kinds: kind.NewRegistry(builtin.Kinds(object.NewCache(0))...),
					Authenticator: auth.Anonymous(), Authorizer: auth.PublicPaths(),
					Initial: []kind.Initial{initial},
				})
				if err == nil {
					srv.Close()
				}
				return errors.Join(err, state.Close())
			}
			journal, overtaken := storetest.NewJournal(), false
			l := &overtakenLog{Log: journal.Open(), other: func() {
				overtaken = true
				if err := startOn(journal.Open()); err != nil {
					t.Errorf("the other server: %v", err)
				}
			}}
			started := make(chan error, 1)
			go func() { started <- startOn(l) }()
			select {
			case err := <-started:
				if err != nil || !overtaken {
					t.Errorf("got error %v, want none; the other server was first: %t, want true", err, overtaken)
				}
			case <-time.After(time.Minute):
				t.Fatal("the server is still starting after a minute")
			}
		})
	}
}

package neutron

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/examples/network/provider"
)

// Watching an unchanged network takes one small request per poll and reports nothing.
func TestWatchSendsOneRequestPerPoll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorded()
		p := r.provider(t)
		apply(t, p, wanted("uid", "10.1.0.0/16", "10.1.0.1"))
		r.took()
		r.disturb(func(q *http.Request) (*http.Response, error) {
			if filter := q.URL.Query()["description"]; !slices.Equal(filter,
				[]string{"made by Bowline, plane " + plane}) {
				t.Errorf("a request is filtered by description %q", filter)
			}
			return nil, nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		var notified []types.UID
		ended := make(chan error)
		go func() { ended <- p.Watch(ctx, func(uid types.UID) { notified = append(notified, uid) }) }()
		time.Sleep(time.Hour + time.Second)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if took := r.took(); len(took) != 1+int(time.Hour/DefaultPoll) ||
			slices.ContainsFunc(took, func(line string) bool { return line != "GET networks" }) {
			t.Errorf("got %d requests: %q", len(took), slices.Compact(took))
		}
		if !slices.Equal(notified, []types.UID{""}) {
			t.Errorf("got notifications %q, want one for all and then none", notified)
		}
	})
}

// The caller has to restart a failed watch, which then reports that anything may have changed.
func TestWatchFailsDuringOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorded()
		p := r.provider(t)
		notifications := 0
		time.AfterFunc(time.Minute, func() {
			r.disturb(func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") })
		})
		err := p.Watch(t.Context(), func(types.UID) { notifications++ })
		if reason, _ := reasonOf(t, err); reason != provider.Unreachable || notifications != 1 {
			t.Errorf("got %d notifications and error %v", notifications, err)
		}
		if err := p.Watch(t.Context(), func(types.UID) { notifications++ }); err == nil || notifications != 1 {
			t.Errorf("the failed watch sent %d notifications: %v", notifications, err)
		}
	})
}

package server_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

const eventsPath = "/api/v1/namespaces/default/events"

// aboutPod is an event.
func aboutPod(name string) string {
	return `{"metadata":{"name":"` + name + `","finalizers":["example.com/for-ever"]},
		"involvedObject":{"kind":"Pod","namespace":"default","name":"p"},"reason":"Tested"}`
}

// Events are deleted an hour after their last write, as by kube-apiserver, regardless of finalizers, and
// watchers see it.
func TestEventsExpireAnHourAfterLastWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.create(t, eventsPath, aboutPod("once"))
		w.create(t, eventsPath, aboutPod("again"))
		w.create(t, configMaps, `{"metadata":{"name":"stays"}}`)
		time.Sleep(40 * time.Minute)
		w.merge(t, eventsPath+"/again", `{"count":2}`).want(t, http.StatusOK)
		w.merge(t, eventsPath+"/again", `{"count":2}`).want(t, http.StatusOK) // which changes nothing
		for _, c := range []struct {
			after       time.Duration
			once, again int
		}{
			{19 * time.Minute, http.StatusOK, http.StatusOK},
			{2 * time.Minute, http.StatusNotFound, http.StatusOK},
			{38 * time.Minute, http.StatusNotFound, http.StatusOK},
			{2 * time.Minute, http.StatusNotFound, http.StatusNotFound},
		} {
			time.Sleep(c.after)
			w.get(t, eventsPath+"/once").want(t, c.once)
			w.get(t, eventsPath+"/again").want(t, c.again)
		}
		w.get(t, configMaps+"/stays").want(t, http.StatusOK)
		w.create(t, eventsPath, aboutPod("once")) // after a time without any
		time.Sleep(61 * time.Minute)
		w.get(t, eventsPath+"/once").want(t, http.StatusNotFound)
	})
}

// The lifetime of stored events starts anew with the server, which does not know when they were written.
func TestRestartRenewsEventLifetime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		journal := storetest.NewJournal()
		w := start(t, storedIn(journal))
		w.create(t, eventsPath, aboutPod("a"))
		time.Sleep(50 * time.Minute)
		w = w.restart(t, journal)
		time.Sleep(50 * time.Minute)
		w.get(t, eventsPath+"/a").want(t, http.StatusOK)
		time.Sleep(11 * time.Minute)
		w.get(t, eventsPath+"/a").want(t, http.StatusNotFound)
		time.Sleep(2 * time.Hour)
		w.restart(t, journal).get(t, eventsPath+"/a").want(t, http.StatusNotFound)
	})
}

// slowLog delays each write while it is slow.
type slowLog struct {
	log.Log
	slow atomic.Bool
}

func (l *slowLog) Append(ctx context.Context, commits []log.Commit) error {
	if l.slow.Load() {
		time.Sleep(5 * time.Second)
	}
	return l.Log.Append(ctx, commits)
}

// An event expires even if its writer disconnected before the commit.
func TestEventOfDisconnectedWriterExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := &slowLog{Log: storetest.NewJournal().Open()}
		w := start(t, func(o *bowline.Options) { o.Storage = slow })
		slow.slow.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e"}, Reason: "Tested"}
		event.InvolvedObject = corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "p"}
		if _, err := w.clients.CoreV1().Events("default").Create(ctx, event, metav1.CreateOptions{}); err == nil {
			t.Fatal("the create succeeded before the commit")
		}
		time.Sleep(time.Minute)
		slow.slow.Store(false)
		w.get(t, eventsPath+"/e").want(t, http.StatusOK)
		time.Sleep(3 * time.Hour)
		w.get(t, eventsPath+"/e").want(t, http.StatusNotFound)
	})
}

// Events from before a fork do not expire in it; those written in it do.
func TestForkKeepsInheritedEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.create(t, eventsPath, aboutPod("before"))
		f := w.fork(t)
		f.create(t, eventsPath, aboutPod("after"))
		time.Sleep(61 * time.Minute)
		w.get(t, eventsPath+"/before").want(t, http.StatusNotFound)
		f.get(t, eventsPath+"/before").want(t, http.StatusOK)
		f.get(t, eventsPath+"/after").want(t, http.StatusNotFound)
	})
}

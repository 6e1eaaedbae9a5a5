package server_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bowline-dev/bowline/store/storetest"
)

const eventsPath = "/api/v1/namespaces/default/events"

// aboutPod is an event.
func aboutPod(name string) string {
	return `{"metadata":{"name":"` + name + `","finalizers":["example.com/for-ever"]},
		"involvedObject":{"kind":"Pod","namespace":"default","name":"p"},"reason":"Tested"}`
}

// TestEventsGoAnHourAfterTheirLastWrite, as kube-apiserver's do, whatever finalizers they have, and watchers see them go.
func TestEventsGoAnHourAfterTheirLastWrite(t *testing.T) {
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

// TestStoredEventsGetTheirTimeAnew from a server that starts: it does not know when they were written.
func TestStoredEventsGetTheirTimeAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		journal := storetest.NewJournal()
		w := start(t, on(journal))
		w.create(t, eventsPath, aboutPod("a"))
		time.Sleep(50 * time.Minute)
		w = w.again(t, journal)
		time.Sleep(50 * time.Minute)
		w.get(t, eventsPath+"/a").want(t, http.StatusOK)
		time.Sleep(11 * time.Minute)
		w.get(t, eventsPath+"/a").want(t, http.StatusNotFound)
		time.Sleep(2 * time.Hour)
		w.again(t, journal).get(t, eventsPath+"/a").want(t, http.StatusNotFound)
	})
}

package fault

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// User returns the transport of the run's user. It records the user's writes in the trace and passes them on
// unchanged, until the plan stops the user. From then on, writes block until the run has ended.
func (r *Run) User() http.RoundTripper { return user{r} }

type user struct {
	run *Run
}

// errStopped is returned for the writes of a stopped user when the run has ended.
var errStopped = errors.New("the run is over")

const userName = "user"

// RoundTrip implements http.RoundTripper.
func (w user) RoundTrip(q *http.Request) (*http.Response, error) {
	r, err := understand(q)
	if err != nil {
		return nil, err
	}
	ignored := r.ignored
	r.ignored = true // forward then preserves the user's Accept header
	if ignored || r.Method == http.MethodGet {
		return w.run.Next.RoundTrip(r.forward())
	}
	if !w.run.userWrites() {
		w.run.stop()
		<-w.run.Ended
		return nil, errStopped
	}
	action := Point{Verb: r.verb, Resource: r.resourceText(),
		Object: w.run.stable(r.resource, r.namespace, r.name)}.action()
	row := w.run.Note(userName, action, "")
	w.run.touch(r, meta{})
	response, err := w.run.Next.RoundTrip(r.forward())
	if err != nil {
		w.run.answer(row, err.Error())
		return nil, err
	}
	w.run.answer(row, fmt.Sprint(response.StatusCode))
	return response, nil
}

// stop records that the user stops, once.
func (r *Run) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.Stopped:
	default:
		close(r.Stopped)
		r.rows = append(r.rows, &Row{At: time.Since(r.began), Who: userName, What: "makes no more changes"})
	}
}

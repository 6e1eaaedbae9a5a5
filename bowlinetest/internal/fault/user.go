package fault

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// User is the transport of who acts in a run: its writes are in the trace, and left alone until the plan has the user stop.
// The next one is never answered then.
func (r *Run) User() http.RoundTripper { return user{r} }

type user struct {
	run *Run
}

// errStopped is the answer in the end to what the user does no more.
var errStopped = errors.New("the run is over")

const userName = "user"

// RoundTrip implements http.RoundTripper.
func (w user) RoundTrip(q *http.Request) (*http.Response, error) {
	r, err := understand(q)
	if err != nil {
		return nil, err
	}
	ignored := r.ignored
	r.ignored = true // as for what is forwarded: the answer is to be in the form that it was asked for
	if ignored || r.Method == http.MethodGet {
		return w.run.Next.RoundTrip(r.forward())
	}
	if !w.run.userWrites() {
		w.run.stop()
		<-w.run.Ended
		return nil, errStopped
	}
	what := Point{Verb: r.verb, Resource: r.resourceText(), Object: w.run.stable(r.resource, r.namespace, r.name)}.what()
	row := w.run.Note(userName, what, "")
	w.run.touch(r, "")
	response, err := w.run.Next.RoundTrip(r.forward())
	if err != nil {
		w.run.answer(row, err.Error())
		return nil, err
	}
	w.run.answer(row, fmt.Sprint(response.StatusCode))
	return response, nil
}

// stop is the moment that the user stops.
func (r *Run) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.Stopped:
	default:
		close(r.Stopped)
		r.rows = append(r.rows, &Row{At: time.Since(r.began), Who: userName, What: "does nothing more"})
	}
}

package fault

import (
	"fmt"
	"net/http"
)

// Watched is a transport whose writes are in the trace of a run, under a name, and otherwise left alone.
func Watched(r *Run, who string, next http.RoundTripper) http.RoundTripper {
	return watched{r, who, next}
}

type watched struct {
	run  *Run
	who  string
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (w watched) RoundTrip(q *http.Request) (*http.Response, error) {
	r, err := understand(q)
	if err != nil {
		return nil, err
	}
	ignored := r.ignored
	r.ignored = true // as for what is forwarded: the answer is to be in the form that it was asked for
	if ignored || r.Method == http.MethodGet {
		return w.next.RoundTrip(r.forward())
	}
	what := Point{Verb: r.verb, Resource: r.resourceText(), Object: w.run.stable(r.resource, r.namespace, r.name)}.what()
	row := w.run.Note(w.who, what, "")
	response, err := w.next.RoundTrip(r.forward())
	if err != nil {
		w.run.answer(row, err.Error())
		return nil, err
	}
	w.run.answer(row, fmt.Sprint(response.StatusCode))
	return response, nil
}

package fault

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Touched is the annotation that a Conflict sets.
const Touched = "explore.bowline.dev/touched"

// interfere changes the object that a request is about to change, as another client, and returns a text for
// the trace. If the change fails, there is no conflict and the fault is withdrawn.
func (l *lifetime) interfere(r *request, at Point) string {
	patch := []byte(`{"metadata":{"annotations":{"` + Touched + `":"yes"}}}`)
	change := r.Clone(r.Context())
	change.Method, change.URL.RawQuery = http.MethodPatch, "fieldManager=explore"
	change.URL.Path, change.URL.RawPath = strings.TrimSuffix(r.URL.Path, "/"+r.sub), ""
	if r.sub == "" {
		change.URL.Path = r.URL.Path
	}
	change.Header = http.Header{"Content-Type": {"application/merge-patch+json"}, "Accept": {"application/json"}}
	change.Body, change.ContentLength = io.NopCloser(bytes.NewReader(patch)), int64(len(patch))
	response, err := l.process.run.Next.RoundTrip(change)
	if err != nil {
		l.process.run.withdraw(at, Conflict)
		return "another client's change failed: " + err.Error() + ";"
	}
	body, _ := io.ReadAll(response.Body) // reading the plane's own response cannot fail
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		l.process.run.withdraw(at, Conflict)
		return "another client could not change it first: " + strconv.Itoa(response.StatusCode) + ";"
	}
	l.process.run.touch(r, metaIn(body))
	return "another client changed it first;"
}

// withdraw removes a fault from a point where it turned out to be impossible.
func (r *Run) withdraw(p Point, kind Kind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, s := range r.points {
		if s.Point == p {
			r.points[i].Kinds = slices.DeleteFunc(slices.Clone(s.Kinds), func(k Kind) bool { return k == kind })
		}
	}
	for i, f := range r.Plan.Faults {
		if f == (Fault{kind, p}) {
			r.hit[i] = false
		}
	}
}

// touch records the metadata of the request's object after another client's change to it. Metadata without a UID clears
// the record.
func (r *Run) touch(q *request, after meta) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.touched[q.object()] = after
}

// overwrites fails the run when a request undid another client's change without having read it: the returned
// object is newer than the change and lacks it, and the request had no resourceVersion. A request with a
// resourceVersion has read the change, and may undo it.
func (l *lifetime) overwrites(r *request, answer meta) {
	run := l.process.run
	run.mu.Lock()
	change := run.touched[r.object()]
	run.mu.Unlock()
	if change.UID == "" || answer.UID != change.UID || !answer.newerThan(change) || r.sub != "" ||
		answer.Annotations[Touched] != "" || metaIn(r.body).ResourceVersion != "" {
		return
	}
	run.Fail("lost update of %s: %s overwrote another client's change, and its write had no resourceVersion",
		r.object(), l.process.name)
}

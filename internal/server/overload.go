package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/inprocess"
	"github.com/bowline-dev/bowline/internal/server/fair"
)

// A request that reads or writes one small object takes one seat and about a third of a millisecond of one
// core. Larger ones take one more seat for each of these units, up to a limit. So the seats bound both the
// bytes and the time of the requests in progress.
const (
	// bodyPerSeat is in bytes of the body.
	bodyPerSeat = 16 << 10
	// answerPerSeat is in bytes of the objects that a list reads, and zippedPerSeat likewise if the answer is
	// compressed.
	answerPerSeat, zippedPerSeat = 512 << 10, 64 << 10
	// objectsPerSeat is in objects that a list reads, of any size.
	objectsPerSeat = 250
	// documentSeats are the seats of an OpenAPI document, which has megabytes.
	documentSeats = 8
	// heaviest is the maximum for one request. There are 96 seats for each core, so one program can run one
	// of the heaviest requests on each core, and all programs together three. Another request then waits for
	// at most that many turns of Go's scheduler, of 10 ms each.
	heaviest = 32
	// lightest is the maximum for a light request. Light requests do not wait behind heavier ones of their
	// program.
	lightest = 4
)

// limits derives the limits from the number of cores. As in Kubernetes, a request waits for at most a quarter
// of its time.
func limits(timeout time.Duration) fair.Limits {
	seats := 96 * max(2, runtime.GOMAXPROCS(0))
	return fair.Limits{Seats: seats, Waiting: 4 * seats, Patience: timeout / 4}
}

// enter waits for the request's seats, which the exchange's leave gives back. It returns a 429, before the
// body is read, if the user sends more requests than the server can run.
func (s *Server) enter(x *exchange, r *http.Request, user *auth.User) error {
	if !exempt(x, r) {
		began := time.Now()
		weight := s.weight(x, r)
		seats, err := s.fair.Enter(r.Context(),
			fair.Flow{User: user.Name, Program: programOf(r), Heavy: weight > lightest}, weight)
		if err != nil {
			return s.tooMany(x, r, err)
		}
		x.seats = seats
		s.metrics.waited.Observe(time.Since(began).Seconds())
	}
	x.left = s.metrics.begin(x)
	return nil
}

// exempt reports whether a request takes no seats: those of the plane's own process, whose controllers must
// make progress (like Kubernetes' loopback client), and health probes, since an overloaded server is not to
// be restarted. Administrators are not exempt, unlike in Kubernetes: here they are most of the users.
func exempt(x *exchange, r *http.Request) bool {
	if r.RemoteAddr == inprocess.RemoteAddr {
		return true
	}
	_, _, probe := healthPath(x.route.path)
	return probe && !x.route.resource
}

// programOf identifies a program of a user by its User-Agent. A forged User-Agent takes nothing from other
// users.
func programOf(r *http.Request) string {
	const most = 64
	agent := r.UserAgent()
	return agent[:min(len(agent), most)]
}

// weight returns the number of seats that a request takes.
func (s *Server) weight(x *exchange, r *http.Request) int {
	seats := 1
	switch target := &x.route; {
	case !target.resource:
		if strings.HasPrefix(target.path, "/openapi/") {
			seats = documentSeats
		}
	case target.verb == "list", target.verb == "deletecollection", target.verb == "watch":
		seats = s.weightOfObjects(target, r)
	}
	if r.Method != http.MethodGet {
		seats = max(seats, weightOfBody(r.ContentLength))
	}
	return min(seats, heaviest)
}

// weightOfBody returns the seats of a body. Unknown length counts as the maximum.
func weightOfBody(length int64) int {
	switch {
	case length > maxBody: // will be refused
		return 1
	case length < 0:
		length = maxBody
	}
	return 1 + int(length/bodyPerSeat)
}

// weightOfObjects estimates the seats of a list from the number of objects that it reads and the size of the
// first ones.
func (s *Server) weightOfObjects(target *route, r *http.Request) int {
	if target.name != "" || target.selected != "" {
		return 1
	}
	limit, lists := int64(0), true
	if r.URL.RawQuery != "" {
		limit, lists = listed(target, r)
	}
	entry, ok := s.kinds.Find(target.gvr)
	if !ok || !lists {
		return 1
	}
	count, bytes := s.sizeOf(entry.Kind.Info().GroupResource(), target.namespace, limit)
	perSeat := answerPerSeat
	if takesGzip(r) {
		perSeat = zippedPerSeat
	}
	return 1 + max(count/objectsPerSeat, bytes/perSeat)
}

// tooMany returns the 429 of a request without a seat. It is delayed: answering clients that ignore it at
// once would cost more than serving them.
func (s *Server) tooMany(x *exchange, r *http.Request, err error) error {
	var refusal *fair.Refusal
	if !errors.As(err, &refusal) {
		return err
	}
	if refusal.Waited == 0 {
		s.holdBack(r.Context())
		passOver(x, r)
	}
	return apierrors.NewTooManyRequests(fmt.Sprintf("this server has more to do than it can: %v; try again after a second, "+
		"with fewer requests at the same time", refusal), retryAfter)
}

const (
	// retryAfter is the value of the header Retry-After, in seconds.
	retryAfter = 1
	// lateness is the minimum delay of a refusal, and a third of the maximum: the delays differ so that
	// clients which were refused together do not return together. mostHeldBack is the maximum number of
	// delayed refusals; others are answered at once. A delayed refusal costs its header and a goroutine, like
	// an idle connection.
	lateness     = time.Second / 2
	mostHeldBack = 4096
)

// holdBack delays a refusal, unless the client disconnects.
func (s *Server) holdBack(ctx context.Context) {
	defer s.heldBack.Add(-1)
	if s.heldBack.Add(1) > mostHeldBack {
		return
	}
	late := time.NewTimer(lateness + rand.N(2*lateness))
	defer late.Stop()
	select {
	case <-late.C:
	case <-ctx.Done():
	}
}

// passOver discards the body of a refused client over HTTP/1.1. Otherwise net/http closes the connection, and
// a new one costs ten times as much.
func passOver(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor > 1 || r.ContentLength <= 0 || r.ContentLength > maxBody {
		return
	}
	if http.NewResponseController(w).SetReadDeadline(time.Now().Add(lateness)) == nil {
		io.Copy(io.Discard, r.Body)
	}
}

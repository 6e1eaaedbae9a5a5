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

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/server/fair"
)

// A request that reads or writes one small object takes one seat, for a third of a millisecond or so of one core. Larger ones
// take more: one for each of these, up to a limit. So what works at once is bounded in bytes and in time.
const (
	// bodyPerSeat is how many bytes of a body take a seat.
	bodyPerSeat = 16 << 10
	// answerPerSeat is how many bytes of the objects that a list goes over take a seat, and zippedPerSeat how many of those
	// that are compressed.
	answerPerSeat, zippedPerSeat = 512 << 10, 64 << 10
	// objectsPerSeat is how many objects that a list goes over take a seat, however small they are.
	objectsPerSeat = 250
	// documentSeats are what an OpenAPI document takes, which is megabytes.
	documentSeats = 8
	// heaviest is how many seats one request takes at most. There are ninety-six for each core, so that a program alone has
	// one of the heaviest at work on each core, and all together three: another request waits for no more than those turns
	// of Go's scheduler, of 10 ms each.
	heaviest = 32
	// lightest are the requests that take no more than this: they do not wait behind heavier ones.
	lightest = 4
)

// limits are what requests may take of this machine: seats by its cores, places to wait by the seats. Requests wait no longer
// than a quarter of the time that they have, as in Kubernetes.
func limits(timeout time.Duration) fair.Limits {
	seats := 96 * max(2, runtime.GOMAXPROCS(0))
	return fair.Limits{Seats: seats, Waiting: 4 * seats, Patience: timeout / 4}
}

// enter lets a request work, once there are seats for it, until leave. It is refused (429) when its user sends more than this
// server can do: before its body is read.
func (s *Server) enter(x *exchange, r *http.Request, user *auth.User) error {
	if !exempt(x, r) {
		began := time.Now()
		weight := s.weight(x, r)
		seats, err := s.fair.Enter(r.Context(), fair.Flow{User: user.Name, Program: programOf(r), Heavy: weight > lightest}, weight)
		if err != nil {
			return s.tooMany(x, r, err)
		}
		x.seats = seats
		s.metrics.waited.Observe(time.Since(began).Seconds())
	}
	x.left = s.metrics.begin(x)
	return nil
}

// exempt says who takes no seats: the plane's own process, whose controllers have to go on for the rest to be worth anything
// (Kubernetes exempts its loopback client), and those who ask whether the server lives. A flood must not look like a death.
// Administrators are not exempt, as they are in Kubernetes: here they are most of the users, and floods are rarely meant.
func exempt(x *exchange, r *http.Request) bool {
	if r.RemoteAddr == client.InProcess {
		return true
	}
	_, _, probe := healthPath(x.route.path)
	return probe && !x.route.resource
}

// programOf tells the programs of a user apart: by what they say that they are. A user whose programs lie takes nothing from
// others.
func programOf(r *http.Request) string {
	const most = 64
	agent := r.UserAgent()
	return agent[:min(len(agent), most)]
}

// weight is how many seats a request takes.
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

// weightOfBody takes a body of unknown length for the longest that is read.
func weightOfBody(length int64) int {
	switch {
	case length > maxBody: // which is refused
		return 1
	case length < 0:
		length = maxBody
	}
	return 1 + int(length/bodyPerSeat)
}

// weightOfObjects is what going over the objects of a list takes, as far as it can be known without doing it: their number,
// and the size of the first of them.
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

// tooMany is the 429 of a request that found no seat. It comes late, because of those clients who do not heed it: answering
// them at once would take more of the machine than serving them.
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
	// retryAfter is how many seconds a client is asked to wait that was refused.
	retryAfter = 1
	// lateness is how long a refusal is held back, and up to twice as long again, so that those who were refused together do
	// not come back together. mostHeldBack is how many are at once: more are answered without delay. Each holds its header
	// and a goroutine, as an idle connection does.
	lateness     = time.Second / 2
	mostHeldBack = 4096
)

// holdBack returns after a while, or when the client goes.
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

// passOver drops what a refused client sends over HTTP/1.1, keeping none of it: net/http would close the connection over a long
// body that nobody reads, and the next one costs ten times as much.
func passOver(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor > 1 || r.ContentLength <= 0 || r.ContentLength > maxBody {
		return
	}
	if http.NewResponseController(w).SetReadDeadline(time.Now().Add(lateness)) == nil {
		io.Copy(io.Discard, r.Body)
	}
}

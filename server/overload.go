package server

import (
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bowline-dev/bowline/auth"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/server/fair"
)

// A request that reads or writes one small object takes one seat. Larger ones take one for each of these, up to a part of all
// seats, so that what works at once is bounded in bytes and in time.
const (
	// bodyPerSeat is how many bytes of a body that was announced take a seat.
	bodyPerSeat = 128 << 10
	// answerPerSeat is how many bytes of the objects that a list goes over take a seat: the time to send them is about
	// that of decoding bodyPerSeat.
	answerPerSeat = 1 << 20
	// objectsPerSeat is how many objects that a list goes over take a seat, however small they are.
	objectsPerSeat = 500
	// documentSeats are what an OpenAPI document takes, which is megabytes.
	documentSeats = 4
	// heaviest is the part of all seats that one request takes at most: a twelfth. So a program alone has four of the
	// heaviest at work, and sixty-four small ones on two cores.
	heaviest = 12
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
		seats, err := s.fair.Enter(r.Context(), user.Name, flowOf(r), s.weight(x, r))
		if err != nil {
			return tooMany(err)
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

// flowOf tells the programs of a user apart: by what they say that they are, which costs a user who lies nothing but the order
// among their own requests.
func flowOf(r *http.Request) string {
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
	return max(1, min(seats, s.fair.Limits().Seats/heaviest))
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
	return 1 + max(count/objectsPerSeat, bytes/answerPerSeat)
}

// tooMany is the 429 of a request that found no seat.
func tooMany(err error) error {
	var refusal *fair.Refusal
	if !errors.As(err, &refusal) {
		return err
	}
	return apierrors.NewTooManyRequests(fmt.Sprintf("this server has more to do than it can: %v; try again after a second, "+
		"with fewer requests at the same time", refusal), retryAfter)
}

// retryAfter is how many seconds a client is asked to wait that was refused.
const retryAfter = 1

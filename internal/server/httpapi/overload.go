package httpapi

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/capacity"
	"github.com/bowline-dev/bowline/internal/inprocess"
	"github.com/bowline-dev/bowline/internal/server/fair"
	"github.com/bowline-dev/bowline/internal/server/request"
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
	// maxSeats is the maximum for one request. There are 96 seats for each core, so one program can run one
	// of the heaviest requests on each core, and all programs together three. Another request then waits for
	// at most that many turns of Go's scheduler, of 10 ms each.
	maxSeats = 32
	// memoryPerSeat bounds the seats of a process with little memory, in bytes. At 256 MiB, one of the heaviest
	// requests runs at a time.
	memoryPerSeat = 8 << 20
	// maxLightSeats is the maximum for a light request. Light requests do not wait behind heavier ones of their
	// program.
	maxLightSeats = 4
	// maxProgramLength is the number of characters of a User-Agent that identify a program of a user.
	maxProgramLength = 64
)

// Limits derives the limits from the number of cores and the memory that the process may use. As in Kubernetes, a
// request waits for at most a quarter of its time.
func Limits(timeout time.Duration) fair.Limits {
	seats := 96 * max(2, runtime.GOMAXPROCS(0))
	seats = int(min(int64(seats), max(maxSeats, capacity.Memory()/memoryPerSeat)))
	return fair.Limits{Seats: seats, Waiting: 4 * seats, Patience: timeout / 4}
}

// enter waits for the request's seats, and counts it as in flight; serve undoes both. It returns a 429, before the
// body is read, if the user sends more requests than the server can run.
func (h *Handler) enter(x *exchange, user *auth.User) error {
	schema := h.o.Flow.Classify(user, &x.route)
	if !h.connects(&x.route) { // as in Kubernetes, the answers of other machines have no such headers
		schema.SetHeaders(x.Header())
	}
	// Administrators in the plane's own process take no seats, since its controllers must make progress (like
	// Kubernetes' loopback client), and health probes take none, since an overloaded server is not to be restarted.
	// Other requests of the exempt level need seats, unlike in Kubernetes: here they are most of the requests.
	exempt := schema.Exempt() && x.r.RemoteAddr == inprocess.RemoteAddr
	if !exempt && !x.route.IsResource {
		_, _, exempt = healthPath(x.route.Path)
	}
	if !exempt {
		if err := h.checkMemory(x); err != nil {
			return err
		}
		began := time.Now()
		weight := h.weight(x)
		// A forged User-Agent takes nothing from other users: Flow uses it only where it distinguishes users.
		program := x.r.UserAgent()
		program = program[:min(len(program), maxProgramLength)]
		seats, err := h.o.Fair.Enter(x.r.Context(),
			schema.Flow(user, &x.route, program, weight > maxLightSeats), weight)
		if err != nil {
			return h.tooMany(x, err)
		}
		x.seats = seats
		h.o.Metrics.Waited(time.Since(began))
	}
	x.left = h.o.Metrics.Begin(&x.route)
	return nil
}

// weight returns the number of seats that a request takes.
func (h *Handler) weight(x *exchange) int {
	seats := 1
	switch target := &x.route; {
	case !target.IsResource:
		if strings.HasPrefix(target.Path, "/openapi/") {
			seats = documentSeats
		}
	case target.Verb == "list", target.Verb == "deletecollection", target.Verb == "watch":
		seats = h.weightOfObjects(target, x.r)
	}
	if x.r.Method != http.MethodGet {
		seats = max(seats, weightOfBody(x.r.ContentLength))
	}
	return min(seats, maxSeats)
}

// weightOfBody returns the seats of a body. Unknown length counts as the maximum.
func weightOfBody(length int64) int {
	switch {
	case length > request.MaxBody: // will be refused
		return 1
	case length < 0:
		length = request.MaxBody
	}
	return 1 + int(length/bodyPerSeat)
}

// weightOfObjects estimates the seats of a list from the number of objects that it reads and the size of the
// first ones.
func (h *Handler) weightOfObjects(target *request.Route, r *http.Request) int {
	if target.Name != "" || target.Selected != "" {
		return 1
	}
	limit, lists := int64(0), true
	if r.URL.RawQuery != "" {
		limit, lists = listed(target, r)
	}
	entry, ok := h.o.Kinds.Find(target.GVR)
	if !ok || !lists {
		return 1
	}
	count, bytes := h.sizeOf(entry.Kind.Info().GroupResource(), target.Namespace, limit)
	perSeat := answerPerSeat
	if acceptsGzip(r) {
		perSeat = zippedPerSeat
	}
	return 1 + max(count/objectsPerSeat, bytes/perSeat)
}

// tooMany returns the 429 of a request without a seat. It is delayed, because
// clients that ignore the 429 would repeat the request at once, which would cost more than serving it.
func (h *Handler) tooMany(x *exchange, err error) error {
	var refusal *fair.Refusal
	if !errors.As(err, &refusal) {
		return err
	}
	if refusal.Waited == 0 {
		h.prepareRefusal(x)
	}
	return apierrors.NewTooManyRequests(fmt.Sprintf("the server is overloaded: %v; try again after a second, "+
		"with fewer concurrent requests", refusal), retryAfter)
}

const (
	// retryAfter is the value of the header Retry-After, in seconds.
	retryAfter = 1
	// minDelay is the minimum delay of a refusal, and a third of the maximum: the delays differ so that
	// clients which were refused together do not return together. maxDelayed is the maximum number of
	// delayed refusals; others are not delayed. A delayed refusal costs its header and a goroutine, like
	// an idle connection.
	minDelay   = time.Second / 2
	maxDelayed = 4096
)

// prepareRefusal waits for a random time, unless the client disconnects or maxDelayed refusals already wait. Then it
// discards the body: net/http closes a connection whose body is unread, and a new connection costs ten
// times as much.
func (h *Handler) prepareRefusal(x *exchange) {
	defer h.delayedRefusals.Add(-1)
	if h.delayedRefusals.Add(1) <= maxDelayed {
		timer := time.NewTimer(minDelay + rand.N(2*minDelay))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-x.r.Context().Done():
		}
	}
	x.discardBody(request.MaxBody, minDelay)
}

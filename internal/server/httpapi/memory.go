package httpapi

import (
	"context"
	"fmt"
	"runtime/debug"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bowline-dev/bowline/internal/capacity"
	"github.com/bowline-dev/bowline/internal/server/request"
)

// checkMemory returns a 429 for a request that the process has no memory for. The quota of the store bounds objects,
// but not what is derived from them, such as the schemas of definitions, nor watches. It applies only to a process with
// a limit for Go's memory, which bowline up sets.
func (h *Handler) checkMemory(x *exchange) error {
	level := h.memory.Level()
	if level == capacity.Enough || level == capacity.Short && !adds(&x.route) || makesRoom(&x.route) {
		return nil
	}
	h.prepareRefusal(x)
	return apierrors.NewTooManyRequests(fmt.Sprintf("the server is short of memory (%s) and rejects this %s; reads and "+
		"deletes continue: delete objects or definitions, or end watches", level, x.route.Verb), retryAfter)
}

// adds reports whether a request may add something that stays in memory.
func adds(r *request.Route) bool {
	switch r.Verb {
	case "create", "update", "patch":
		return r.IsResource && r.Subresource != "status"
	case "watch":
		return true
	}
	return false
}

// makesRoom reports whether a request may free memory.
func makesRoom(r *request.Route) bool {
	return r.IsResource && (r.Verb == "delete" || r.Verb == "deletecollection")
}

// CheckMemory returns the health check that no requests are rejected for want of memory.
func CheckMemory() func(context.Context) error {
	var gauge capacity.Gauge
	return func(context.Context) error {
		if level := gauge.Level(); level != capacity.Enough {
			return fmt.Errorf("memory is %s: %d bytes are in use, and Go's limit is %d; requests that add to them are "+
				"rejected", level, capacity.Used(), debug.SetMemoryLimit(-1))
		}
		return nil
	}
}

package plugins

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/lru"

	"github.com/bowline-dev/bowline/admission"
)

// The types of a limit: what has a rate of its own.
const (
	limitServer          = "Server"
	limitNamespace       = "Namespace"
	limitUser            = "User"
	limitSourceAndObject = "SourceAndObject"
)

// eventLimits is the configuration of LimitEvents, in Kubernetes' format.
type eventLimits struct {
	metav1.TypeMeta `json:""`
	Limits          []eventLimit `json:"limits"`
}

// eventLimit is a limit of the rate of events.
type eventLimit struct {
	Type string `json:"type"`
	// QPS is the number of events in a second, and Burst the number of events at once.
	QPS   int32 `json:"qps"`
	Burst int32 `json:"burst"`
	// CacheSize is the number of namespaces, users, or pairs of a source and an object whose rates are kept. The rate
	// of one that was dropped starts anew, with a full burst. 0 means defaultRates.
	CacheSize int32 `json:"cacheSize,omitempty"`
}

// defaultRates is the default of eventLimit.CacheSize.
const defaultRates = 4096

// check returns an error for each wrong field.
func (c *eventLimits) check() (errs field.ErrorList) {
	path := field.NewPath("limits")
	if len(c.Limits) == 0 {
		errs = append(errs, field.Invalid(path, c.Limits, "must not be empty"))
	}
	for i, l := range c.Limits {
		path := path.Index(i)
		switch l.Type {
		case limitServer, limitNamespace, limitUser, limitSourceAndObject:
		default:
			errs = append(errs, field.NotSupported(path.Child("type"), l.Type,
				[]string{limitServer, limitNamespace, limitUser, limitSourceAndObject}))
		}
		if l.Burst <= 0 {
			errs = append(errs, field.Invalid(path.Child("burst"), l.Burst, "must be positive"))
		}
		if l.QPS <= 0 {
			errs = append(errs, field.Invalid(path.Child("qps"), l.QPS, "must be positive"))
		}
		if l.Type != limitServer && l.CacheSize < 0 {
			errs = append(errs, field.Invalid(path.Child("cacheSize"), l.CacheSize, "must not be negative"))
		}
	}
	return errs
}

// LimitEvents rejects events beyond the rates of its configuration (Kubernetes' EventRateLimit). Like Kubernetes, it
// counts only those of the core group. It is off by default, because it needs a configuration.
type LimitEvents struct{ limits []*eventRates }

// newLimitEvents returns the plugin for a valid configuration.
func newLimitEvents(c eventLimits) LimitEvents {
	var p LimitEvents
	for _, l := range c.Limits {
		size := int(l.CacheSize)
		switch {
		case l.Type == limitServer:
			size = 1
		case size == 0:
			size = defaultRates
		}
		p.limits = append(p.limits, &eventRates{eventLimit: l, rates: lru.New(size)})
	}
	return p
}

// Name implements admission.Plugin.
func (LimitEvents) Name() string { return "EventRateLimit" }

// Handles implements admission.Plugin.
func (LimitEvents) Handles(op admission.Operation, resource schema.GroupResource, _ string) bool {
	return resource == schema.GroupResource{Resource: "events"} && (op == admission.Create || op == admission.Update)
}

// Admit implements admission.Plugin.
func (LimitEvents) Admit(context.Context, *admission.Attributes, admission.Reader) error { return nil }

// Validate implements admission.Plugin. It counts the event against all limits, also if one of them rejects it.
func (p LimitEvents) Validate(_ context.Context, a *admission.Attributes, _ admission.Reader) error {
	if a.DryRun {
		return nil
	}
	var errs []error
	for _, l := range p.limits {
		if err := l.accept(a); err != nil {
			errs = append(errs, err)
		}
	}
	if err := utilerrors.NewAggregate(errs); err != nil {
		return apierrors.NewTooManyRequestsError(err.Error())
	}
	return nil
}

// eventRates has the current rates of a limit.
type eventRates struct {
	eventLimit
	mu    sync.Mutex // looking a rate up and adding it is one step
	rates *lru.Cache
}

// maxShownKey is the length in bytes of the key in an error, which a client chooses.
const maxShownKey = 1 << 10

// accept counts an event, or returns an error if it is beyond the limit.
func (r *eventRates) accept(a *admission.Attributes) error {
	key := r.keyOf(a)
	if r.of(key).Allow() {
		return nil
	}
	if len(key) > maxShownKey {
		key = strings.ToValidUTF8(key[:maxShownKey], "") + "..."
	}
	return fmt.Errorf("limit reached on type %v for key %v", r.Type, key)
}

// of returns the rate of a key. The cache has a digest of the key, whose size does not depend on the client.
func (r *eventRates) of(key string) *rate.Limiter {
	digest := sha256.Sum256([]byte(key))
	r.mu.Lock()
	defer r.mu.Unlock()
	if found, ok := r.rates.Get(digest); ok {
		return found.(*rate.Limiter)
	}
	limiter := rate.NewLimiter(rate.Limit(r.QPS), int(r.Burst))
	r.rates.Add(digest, limiter)
	return limiter
}

// keyOf returns the key of the rate of an event.
func (r *eventRates) keyOf(a *admission.Attributes) string {
	switch r.Type {
	case limitNamespace:
		return a.Namespace
	case limitUser:
		return a.User
	case limitSourceAndObject:
		if event, ok := a.Object.(*corev1.Event); ok {
			o := &event.InvolvedObject
			return strings.Join([]string{event.Source.Component, event.Source.Host, o.Kind, o.Namespace, o.Name,
				string(o.UID), o.APIVersion}, "")
		}
	}
	return ""
}

// Package webhook implements the admission plugins that call the webhooks of MutatingWebhookConfigurations
// and ValidatingWebhookConfigurations. Mutating webhooks are called one after the other, ordered by the names
// of their configurations, and return patches; validating webhooks are called concurrently. Requests, checks
// of responses, and errors follow Kubernetes 1.36 (k8s.io/apiserver's pkg/admission/plugin/webhook).
//
// Configurations are read again when they change and apply to later writes. Writes of the configurations
// themselves are not sent to webhooks, so that a broken webhook can always be removed. Each call has a
// timeout, the size of a response is limited, and the failure policy decides whether a write continues after
// a failed call.
package webhook

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
)

const group = admissionregistrationv1.GroupName

var (
	mutatingConfigurations   = schema.GroupResource{Group: group, Resource: "mutatingwebhookconfigurations"}
	validatingConfigurations = schema.GroupResource{Group: group, Resource: "validatingwebhookconfigurations"}
)

// Plugins returns the plugins that call mutating and validating webhooks, and their metrics. They close their
// connections when ctx ends. Failures that are ignored go to log.
func Plugins(ctx context.Context, log *slog.Logger) (mutator, validator admission.Plugin,
	m prometheus.Collector) {
	counts := newMetrics()
	return &mutating{hooks{ctx: ctx, log: log, resource: mutatingConfigurations, step: admits, counts: counts}},
		&validating{hooks{ctx: ctx, log: log, resource: validatingConfigurations, step: validates, counts: counts}},
		counts
}

// isConfiguration reports whether writes of a resource are not sent to webhooks. Otherwise a webhook could prevent
// its own removal.
func isConfiguration(resource schema.GroupResource) bool {
	return resource == mutatingConfigurations || resource == validatingConfigurations
}

// Package webhook has writes admitted by whom MutatingWebhookConfigurations and ValidatingWebhookConfigurations name: two
// admission plugins, which call HTTPS servers. Mutating ones are asked one after the other, by the names of their
// configurations, and answer with patches; validating ones all at once. What is asked, what of the answer is believed, and the
// errors follow Kubernetes 1.36 (k8s.io/apiserver's pkg/admission/plugin/webhook).
//
// Configurations are read when they change, and take effect for the writes that follow. They themselves are never asked about:
// nobody can lock themselves out. A webhook may hang, lie or fail: its timeout ends the call, an answer is read up to a limit,
// and the failure policy says whether the write goes on without it.
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

// Plugins are the mutating and the validating plugin, in the order in which they are asked, after all others, and what they
// count. They let go of their connections when ctx ends. Failures that are ignored go to log.
func Plugins(ctx context.Context, log *slog.Logger) ([]admission.Plugin, prometheus.Collector) {
	counts := newMetrics()
	return []admission.Plugin{
		&mutating{hooks{ctx: ctx, log: log, resource: mutatingConfigurations, step: admits, counts: counts}},
		&validating{hooks{ctx: ctx, log: log, resource: validatingConfigurations, step: validates, counts: counts}},
	}, counts
}

// asksNobody says that webhooks are not asked about a resource: they could forbid that they are removed.
func asksNobody(resource schema.GroupResource) bool {
	return resource == mutatingConfigurations || resource == validatingConfigurations
}

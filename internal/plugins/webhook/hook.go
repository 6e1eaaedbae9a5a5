package webhook

import (
	"context"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind/caller"
	"github.com/bowline-dev/bowline/internal/plugins/matching"
)

// maxResponse is the maximum size of a response, in bytes. The body of a request has at most 3 MiB, and a patch that
// sets all of it takes a third more, because it is encoded in base64.
const maxResponse = 8 << 20

// defaultTimeout applies to webhooks that set no timeout.
const defaultTimeout = 10 * time.Second

// hook is one webhook. A validating webhook is represented as a mutating one whose patches are rejected.
type hook struct {
	*admissionregistrationv1.MutatingWebhook
	// id identifies a hook by its configuration and its index there. Names of webhooks need not be unique.
	id struct {
		configuration string
		index         int
	}
	criteria *matching.Criteria
	// conditions is nil if the webhook has no match conditions. It compiles them on first use.
	conditions func() matchconditions.Matcher
	caller     *caller.Caller
}

func newHook(ctx context.Context, resolve caller.Resolver, configuration string, index int,
	w *admissionregistrationv1.MutatingWebhook) *hook {
	h := &hook{MutatingWebhook: w}
	h.id.configuration, h.id.index = configuration, index
	h.criteria = matching.New(&admissionregistrationv1.MatchResources{
		NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector, MatchPolicy: w.MatchPolicy,
		ResourceRules: named(w.Rules),
	})
	if len(w.MatchConditions) > 0 {
		h.conditions = sync.OnceValue(h.compileConditions)
	}
	config := caller.Config{URL: w.ClientConfig.URL, CABundle: w.ClientConfig.CABundle, MaxResponse: maxResponse}
	if s := w.ClientConfig.Service; s != nil {
		config.Service = &caller.Service{Namespace: s.Namespace, Name: s.Name}
		if s.Path != nil {
			config.Service.Path = *s.Path
		}
		if s.Port != nil {
			config.Service.Port = *s.Port
		}
	}
	h.caller = caller.New(ctx, config, resolve, reviews)
	return h
}

// named returns rules for all names.
func named(rules []admissionregistrationv1.RuleWithOperations) []matching.Rule {
	all := make([]matching.Rule, len(rules))
	for i, r := range rules {
		all[i] = matching.Rule{RuleWithOperations: r}
	}
	return all
}

// matches reports whether the webhook must be called for a write, and in which version of the resource. It does not
// evaluate match conditions, which need the object in that version.
func (h *hook) matches(ctx context.Context, a *admission.Attributes,
	state admission.Reader) (gv schema.GroupVersion, yes bool, err error) {
	if len(h.Rules) == 0 {
		return gv, false, nil
	}
	return h.criteria.Match(ctx, a, state)
}

// ignoresFailure reports whether the write continues if the webhook fails.
func (h *hook) ignoresFailure() bool {
	return h.FailurePolicy != nil && *h.FailurePolicy == admissionregistrationv1.Ignore
}

// reviews returns the codec for AdmissionReviews.
func reviews() (runtime.Codec, error) {
	versions := []schema.GroupVersion{admissionv1beta1.SchemeGroupVersion, admissionv1.SchemeGroupVersion}
	return caller.Codec(versions, admissionv1beta1.AddToScheme, admissionv1.AddToScheme)
}

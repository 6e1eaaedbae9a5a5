package webhook

import (
	"context"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"

	"github.com/bowline-dev/bowline/internal/kind/caller"
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
	// namespaces and objects are nil for a selector that selects everything. selectorErr is the parse error
	// of an invalid selector; the selector is nil then.
	namespaces, objects labels.Selector
	selectorErr         error
	// conditions is nil if the webhook has no match conditions. It compiles them on first use.
	conditions func() matchconditions.Matcher
	caller     *caller.Caller
}

func newHook(ctx context.Context, resolve caller.Resolver, configuration string, index int,
	w *admissionregistrationv1.MutatingWebhook) *hook {
	h := &hook{MutatingWebhook: w}
	h.id.configuration, h.id.index = configuration, index
	h.namespaces, h.objects = h.selector(w.NamespaceSelector), h.selector(w.ObjectSelector)
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

// selector parses s. It returns nil if s selects everything or is invalid; in the latter case it sets
// h.selectorErr.
func (h *hook) selector(s *metav1.LabelSelector) labels.Selector {
	if s == nil {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	switch {
	case err != nil:
		h.selectorErr = err
		return nil
	case selector.Empty():
		return nil
	}
	return selector
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

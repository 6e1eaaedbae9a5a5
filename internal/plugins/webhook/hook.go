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

// largestAnswer is how much of an answer is read, in bytes: far more than the patch of any object that can be stored.
const largestAnswer = 16 << 20

// defaultTimeout is how long a webhook may take that does not say.
const defaultTimeout = 10 * time.Second

// hook is one webhook. A validating one is a mutating one whose patches are refused.
type hook struct {
	*admissionregistrationv1.MutatingWebhook
	// id tells hooks of one name apart: the configuration, and the place in it.
	id struct {
		configuration string
		index         int
	}
	// namespaces and objects select; nil selects everything. wrong is why one of them, which is nil, cannot be read.
	namespaces, objects labels.Selector
	wrong               error
	// conditions is nil without any. It is compiled when it is first needed.
	conditions func() matchconditions.Matcher
	caller     *caller.Caller
}

func newHook(ctx context.Context, resolve caller.Resolver, configuration string, index int, w *admissionregistrationv1.MutatingWebhook) *hook {
	h := &hook{MutatingWebhook: w}
	h.id.configuration, h.id.index = configuration, index
	h.namespaces, h.objects = h.selector(w.NamespaceSelector), h.selector(w.ObjectSelector)
	if len(w.MatchConditions) > 0 {
		h.conditions = sync.OnceValue(h.compileConditions)
	}
	config := caller.Config{URL: w.ClientConfig.URL, CABundle: w.ClientConfig.CABundle, Largest: largestAnswer}
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

// selector is nil for one that selects everything.
func (h *hook) selector(s *metav1.LabelSelector) labels.Selector {
	if s == nil {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	switch {
	case err != nil:
		h.wrong = err
		return nil
	case selector.Empty():
		return nil
	}
	return selector
}

// ignores says that the write goes on when the webhook fails.
func (h *hook) ignores() bool {
	return h.FailurePolicy != nil && *h.FailurePolicy == admissionregistrationv1.Ignore
}

// reviews reads and writes AdmissionReviews.
func reviews() (runtime.Codec, error) {
	versions := []schema.GroupVersion{admissionv1beta1.SchemeGroupVersion, admissionv1.SchemeGroupVersion}
	return caller.Codec(versions, admissionv1beta1.AddToScheme, admissionv1.AddToScheme)
}

package webhook

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind/caller"
)

// TestInvalidSelectorRejectsWrite checks that a webhook with an invalid selector rejects the writes that its
// rules and its other selector match, and no others.
func TestInvalidSelectorRejectsWrite(t *testing.T) {
	t.Parallel()
	invalid := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a b"}}
	none := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "none"}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}}
	stored := state{namespaces: {&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}}}
	for name, c := range map[string]struct {
		objects, namespaces *metav1.LabelSelector
		resource            string
		refused             bool
	}{
		"of objects":                         {invalid, nil, "pods", true},
		"of namespaces":                      {nil, invalid, "pods", true},
		"of another resource":                {invalid, invalid, "nodes", false},
		"of objects, in other namespaces":    {invalid, none, "pods", false},
		"of namespaces, about other objects": {none, invalid, "pods", false},
	} {
		h := hookOf(t, func(w *admissionregistrationv1.MutatingWebhook) {
			w.ObjectSelector, w.NamespaceSelector = c.objects, c.namespaces
		},
			rule("*", "", "v1", c.resource))
		_, yes, err := h.matches(t.Context(), write(t, admission.Create, podsV1, "", pod), stored)
		if yes || apierrors.IsInternalError(err) != c.refused {
			t.Errorf("%s: %v, %v", name, yes, err)
		}
	}
}

// TestPanicFailsOnlyTheWrite checks that a panic while calling a webhook fails only that write.
func TestPanicFailsOnlyTheWrite(t *testing.T) {
	t.Parallel()
	h := hookOf(t, func(w *admissionregistrationv1.MutatingWebhook) {
		w.AdmissionReviewVersions = []string{"v1"}
	}, rule("*", "", "v1", "pods"))
	codec := func() (runtime.Codec, error) { panic("no codec") }
	h.caller = caller.New(t.Context(), caller.Config{URL: h.ClientConfig.URL}, nil, codec)
	t.Cleanup(h.caller.Close)
	a := write(t, admission.Create, podsV1, "",
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}})
	s, err := newSubject(a, podsV1.GroupVersion())
	if err != nil {
		t.Fatal(err)
	}
	v := &validating{hooks{ctx: t.Context(), log: slog.New(slog.DiscardHandler), step: validates, counts: newMetrics()}}
	err = v.callAll(t.Context(), a, []*invocation{{hook: h, subject: s}})
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !strings.Contains(err.Error(),
		`calling webhook "w.example.com" panicked: no codec`) {
		t.Errorf("answered %v", err)
	}
}

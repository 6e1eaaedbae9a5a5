package core

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestNamespaceRules checks the rules of ValidateNamespace, ValidateNamespaceStatusUpdate and
// ValidateNamespaceFinalizeUpdate (pkg/apis/core/validation).
func TestNamespaceRules(t *testing.T) {
	t.Parallel()
	const standard = "name is neither a standard finalizer name nor is it fully qualified"
	check(t, "namespaces", []rule{
		{name: "a finalizer of its own", body: `{"spec":{"finalizers":["example.com/x"]}}`},
		{name: "a finalizer without a domain", body: `{"spec":{"finalizers":["x"]}}`,
			want: []string{`spec.finalizers: Invalid value: "x": ` + standard}},
		{name: "finalize: a finalizer without a domain", sub: "finalize", old: `{}`,
			body: `{"spec":{"finalizers":["x"]}}`,
			want: []string{`spec.finalizers[0]: Invalid value: "x": ` + standard}},
		{name: "finalize: none", sub: "finalize", old: `{}`, body: `{"spec":{}}`},
		{name: "status: ending without being deleted", sub: "status", old: `{}`,
			body: `{"status":{"phase":"Terminating"}}`,
			want: []string{"status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty"}},
	})
}

// TestDeletedNamespaceStatus checks that a deleted namespace can only be Terminating.
func TestDeletedNamespaceStatus(t *testing.T) {
	t.Parallel()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: new(metav1.Now())},
		Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive}}
	errs := kindsByResource()["namespaces"].Validate(t.Context(), ns, ns, "status")
	const want = "status.Phase: Invalid value: \"Active\": may only be 'Terminating' if `deletionTimestamp` is not empty"
	if len(errs) != 1 || errs[0].Error() != want {
		t.Errorf("errors %v, want %s", errs, want)
	}
}

// TestNamespaceFinalizersDelayRemoval follows strategy.go and storage of pkg/registry/core/namespace.
func TestNamespaceFinalizersDelayRemoval(t *testing.T) {
	t.Parallel()
	k := kindsByResource()["namespaces"]
	ns := read(t, k, "", `{"metadata":{"name":"team"},"status":{"phase":"Terminating"}}`).(*corev1.Namespace)
	k.Prepare(ns, nil, "")
	if diff := cmp.Diff([]corev1.FinalizerName{"kubernetes"}, ns.Spec.Finalizers); diff != "" ||
		ns.Status.Phase != corev1.NamespaceActive {
		t.Errorf("phase %s, finalizers (-want +got):\n%s", ns.Status.Phase, diff)
	}
	if ns.Labels["kubernetes.io/metadata.name"] != "team" {
		t.Errorf("labels %v, want one with the name", ns.Labels)
	}

	update := read(t, k, "",
		`{"metadata":{"name":"team"},"spec":{"finalizers":[]},"status":{"phase":"Terminating"}}`).(*corev1.Namespace)
	k.Prepare(update, ns, "")
	if len(update.Spec.Finalizers) != 1 || update.Status.Phase != corev1.NamespaceActive {
		t.Errorf("an update of the namespace changed the finalizers %v or the status %v", update.Spec, update.Status)
	}

	d := k
	if !d.BeginDelete(ns) || ns.Status.Phase != corev1.NamespaceTerminating || d.Finished(ns) {
		t.Errorf("a deleted namespace with a finalizer: %+v, want it Terminating and unfinished", ns)
	}
	final := read(t, k, "", `{"metadata":{"name":"team"},"spec":{}}`).(*corev1.Namespace)
	k.Prepare(final, ns, "finalize")
	if final.Status.Phase != corev1.NamespaceTerminating || !d.Finished(final) {
		t.Errorf("without its finalizer: %+v, want it Terminating and finished", final)
	}
	if d.BeginDelete(final) {
		t.Error("the deletion of a namespace without finalizers was delayed")
	}
}

// TestGeneratedNamespaceNamesAreLabelled checks a name that is generated after defaults were applied.
func TestGeneratedNamespaceNamesAreLabelled(t *testing.T) {
	t.Parallel()
	k := kindsByResource()["namespaces"]
	ns := k.New()
	ns.SetName("gen-abcde")
	k.Prepare(ns, nil, "")
	if ns.GetLabels()["kubernetes.io/metadata.name"] != "gen-abcde" {
		t.Errorf("labels %v, want one with the name", ns.GetLabels())
	}
}

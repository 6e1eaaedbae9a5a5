package status_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/bowline-dev/bowline/internal/server/status"
)

// TestRegisteredKinds compares the list with the scheme of client-go, which has the same versions as kube-apiserver's.
func TestRegisteredKinds(t *testing.T) {
	t.Parallel()
	for gvk := range scheme.Scheme.AllKnownTypes() {
		if registered := status.Registered("apps", gvk); registered != (gvk.Version != runtime.APIVersionInternal) {
			t.Errorf("%s: registered %t", gvk, registered)
		}
	}
	for _, c := range []struct {
		group, apiVersion, kind string
		want                    bool
	}{
		{"", "v1", "Pod", true},
		{"apps", "v1", "PodList", true},
		{"apps", "v1", "Pods", false},
		{"apps", "apps/v1", "Pod", false},
		{"apps", "v1", "DeleteOptions", true},
		{"apps", "v2", "DeleteOptions", false},
		{"apps", "admission.k8s.io/v1", "AdmissionReview", true}, // client-go does not know it
		{"apps", "apiextensions.k8s.io/v1", "CustomResourceDefinition", false},
		{"apiextensions.k8s.io", "apiextensions.k8s.io/v1", "CustomResourceDefinitionList", true},
		{"apiextensions.k8s.io", "v1", "Pod", false},
		{"apiregistration.k8s.io", "apiregistration.k8s.io/v1beta1", "APIService", true},
		{"apiregistration.k8s.io", "v1", "Pod", false},
	} {
		if got := status.Registered(c.group, schema.FromAPIVersionAndKind(c.apiVersion, c.kind)); got != c.want {
			t.Errorf("%s %s in requests for group %q: registered %t, want %t", c.apiVersion, c.kind, c.group, got, c.want)
		}
	}
}

func TestNotRegistered(t *testing.T) {
	t.Parallel()
	pod := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	for group, want := range map[string]string{
		"apps":                   `no kind "Pod" is registered for version "v1" in scheme "pkg/api/legacyscheme/scheme.go:30"`,
		"apiextensions.k8s.io":   `no kind "Pod" is registered for version "v1" in scheme "pkg/apiserver/apiserver.go:56"`,
		"apiregistration.k8s.io": `no kind "Pod" is registered for version "v1" in scheme "pkg/apiserver/scheme/scheme.go:28"`,
	} {
		if got := status.NotRegistered(group, pod).Error(); got != want {
			t.Errorf("%s: %s, want %s", group, got, want)
		}
	}
}

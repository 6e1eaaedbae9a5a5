package clientgo

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"

	"github.com/bowline-dev/bowline/compatibility/plane"
)

// TestClientsThatPreferCBORFallBackToJSON checks that CBOR is rejected with 415, as by a Kubernetes without
// CBOR, and that client-go falls back to JSON. It is not parallel, because the feature gates of client-go are
// global to the process.
func TestClientsThatPreferCBORFallBackToJSON(t *testing.T) {
	featurestesting.SetFeatureDuringTest(t, features.ClientsAllowCBOR, true)
	featurestesting.SetFeatureDuringTest(t, features.ClientsPreferCBOR, true)
	config, ctx := plane.Start(t), t.Context()
	plane.Define(t, config, plane.Widgets(t))
	client := plane.Must(dynamic.NewForConfig(config))(t).Resource(widgets).Namespace(ns)
	if _, err := client.Create(ctx, widget(t, "a", `{}`), metav1.CreateOptions{}); err == nil {
		t.Error("create in CBOR: got no error, so that the fallback is not tried")
	}
	plane.Must(client.Create(ctx, widget(t, "a", `{}`), metav1.CreateOptions{}))(t)
	if l := plane.Must(client.List(ctx, metav1.ListOptions{}))(t); len(l.Items) != 1 {
		t.Errorf("got list %v, want one object", l)
	}
}

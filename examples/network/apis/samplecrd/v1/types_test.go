package v1_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/bowline-dev/bowline/examples/network/apis/samplecrd/v1"
)

func TestDeepCopy(t *testing.T) {
	t.Parallel()
	list := &v1.NetworkList{Items: []v1.Network{{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "1"}},
		Status:     v1.NetworkStatus{Conditions: []metav1.Condition{{Type: v1.ConditionReady}}},
	}}}
	other := list.DeepCopyObject().(*v1.NetworkList)
	other.Items[0].Labels["a"] = "2"
	other.Items[0].Status.Conditions[0].Type = "Other"
	if n := list.Items[0]; n.Labels["a"] != "1" || n.Status.Conditions[0].Type != v1.ConditionReady {
		t.Errorf("changing the copy changed the original: %+v", n)
	}
}

func TestAddToSchemeRegistersBothGroups(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := v1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, gv := range v1.GroupVersions() {
		for _, kind := range []string{"Network", "NetworkList"} {
			if !scheme.Recognizes(gv.WithKind(kind)) {
				t.Errorf("the scheme has no kind %s in %s", kind, gv)
			}
		}
	}
}

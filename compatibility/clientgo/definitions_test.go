package clientgo

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apply "k8s.io/apiextensions-apiserver/pkg/client/applyconfiguration/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/bowline-dev/bowline/compatibility/plane"
)

// TestTypedClientOfDefinitions uses all verbs on a definition in v1, and reads the same object in v1beta1.
func TestTypedClientOfDefinitions(t *testing.T) {
	t.Parallel()
	clients, ctx := plane.Must(apiextensions.NewForConfig(plane.Start(t)))(t), t.Context()
	client, name := clients.ApiextensionsV1().CustomResourceDefinitions(), "widgets.example.com"
	w := plane.Must(client.Watch(ctx, metav1.ListOptions{}))(t)
	defer w.Stop()
	crd := plane.Must(client.Create(ctx, plane.Widgets(t), metav1.CreateOptions{}))(t)
	expectEvent(t, w, watch.Added, crd)
	crd = plane.Must(client.Get(ctx, name, metav1.GetOptions{}))(t) // the status was set after the create
	expectEvent(t, w, watch.Modified, crd)
	if crd.Status.StoredVersions[0] != "v1" || crd.Status.AcceptedNames.Plural != "widgets" {
		t.Errorf("after create: got status %v, want version v1 and the accepted names", crd.Status)
	}
	crd.Labels = map[string]string{"step": "updated"}
	crd = plane.Must(client.Update(ctx, crd, metav1.UpdateOptions{}))(t)
	expectEvent(t, w, watch.Modified, crd)
	for kind, body := range map[types.PatchType]string{
		types.JSONPatchType:           `[{"op":"add","path":"/metadata/labels/json","value":"1"}]`,
		types.MergePatchType:          `{"metadata":{"labels":{"merge":"1"}}}`,
		types.StrategicMergePatchType: `{"metadata":{"labels":{"strategic":"1"}}}`,
	} {
		crd = plane.Must(client.Patch(ctx, name, kind, []byte(body), metav1.PatchOptions{}))(t)
		expectEvent(t, w, watch.Modified, crd)
	}
	if len(crd.Labels) != 4 {
		t.Errorf("after update and patches: got labels %v, want 4", crd.Labels)
	}
	short := apply.CustomResourceDefinition(name).WithSpec(apply.CustomResourceDefinitionSpec().
		WithNames(apply.CustomResourceDefinitionNames().WithShortNames("wdg")))
	plane.Must(client.Apply(ctx, short, metav1.ApplyOptions{FieldManager: "us", Force: true}))(t)
	crd = plane.Must(client.Get(ctx, name, metav1.GetOptions{}))(t)
	if names := crd.Status.AcceptedNames.ShortNames; len(names) != 1 || names[0] != "wdg" {
		t.Errorf("after apply: got short names %v, want wdg", names)
	}
	old := plane.Must(clients.ApiextensionsV1beta1().CustomResourceDefinitions().Get(ctx, name, metav1.GetOptions{}))(t)
	if old.UID != crd.UID || old.Spec.Version != "v1" || old.Spec.Validation == nil ||
		old.Spec.Subresources.Scale == nil {
		t.Errorf("got v1beta1 spec %v, want the same definition", old.Spec)
	}
	if err := client.DeleteCollection(ctx, metav1.DeleteOptions{},
		metav1.ListOptions{LabelSelector: "step=updated"}); err != nil {
		t.Fatal(err)
	}
	for e := range w.ResultChan() {
		if e.Type == watch.Deleted && e.Object.(*apiextensionsv1.CustomResourceDefinition).UID == crd.UID {
			break
		}
	}
}

package server_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/flowcontrol"
	"github.com/bowline-dev/bowline/internal/object"
)

var updateTemplates = flag.Bool("update-templates", false, "write the templates of the initial flow schemas and levels")

// TestFlowTemplates compares the prepared initial objects with what a plane would store after their creation by
// Kubernetes' field managers.
func TestFlowTemplates(t *testing.T) {
	t.Parallel()
	w := start(t, func(o *bowline.Options) { o.SkipBootstrap = true })
	codecs := map[string]kind.Kind{}
	for _, k := range flowcontrol.Kinds(object.NewCache(1)) {
		codecs[k.Info().Kind] = k
	}
	created := metav1.NewTime(must(time.Parse(time.RFC3339, flowcontrol.TemplateTime))(t))
	options := metav1.CreateOptions{DryRun: []string{"All"}, FieldManager: "api-priority-and-fairness-config-producer-v1"}
	var want bytes.Buffer
	for _, i := range flowcontrol.Initial() {
		var obj kind.Object
		switch o := i.Object.(type) {
		case *flowcontrolv1.FlowSchema:
			s := must(w.clients.FlowcontrolV1().FlowSchemas().Create(t.Context(), o, options))(t)
			s.Status.Conditions = []flowcontrolv1.FlowSchemaCondition{{Type: "Dangling", Status: "False", Reason: "Found",
				LastTransitionTime: created, Message: fmt.Sprintf("This FlowSchema references the "+
					"PriorityLevelConfiguration object named %q and it exists", s.Spec.PriorityLevelConfiguration.Name)}}
			s.ManagedFields = append(s.ManagedFields, metav1.ManagedFieldsEntry{
				Manager: "api-priority-and-fairness-config-consumer-v1", Operation: "Apply", Subresource: "status",
				APIVersion: "flowcontrol.apiserver.k8s.io/v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(
					`{"f:status":{"f:conditions":{"k:{\"type\":\"Dangling\"}":{".":{},` +
						`"f:lastTransitionTime":{},"f:message":{},"f:reason":{},"f:status":{},"f:type":{}}}}}`)})
			obj = s
		case *flowcontrolv1.PriorityLevelConfiguration:
			obj = must(w.clients.FlowcontrolV1().PriorityLevelConfigurations().Create(t.Context(), o, options))(t)
		}
		obj.SetUID(flowcontrol.TemplateUID)
		obj.SetCreationTimestamp(created)
		obj.SetResourceVersion(object.RevisionPlaceholder)
		entries := obj.GetManagedFields()
		for i := range entries {
			entries[i].Time = &created
		}
		obj.SetManagedFields(entries)
		gvk := i.Object.GetObjectKind().GroupVersionKind()
		obj.GetObjectKind().SetGroupVersionKind(gvk)
		form := object.Form{APIVersion: gvk.GroupVersion().String()}
		want.Write(must(codecs[gvk.Kind].Encode(form, obj))(t))
		want.WriteByte('\n')
	}
	if *updateTemplates {
		err := os.WriteFile("../kind/builtin/flowcontrol/templates.jsonl", want.Bytes(), 0o644)
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	var got bytes.Buffer
	for template := range flowcontrol.Templates() {
		got.Write(template.JSON)
		got.WriteByte('\n')
	}
	if diff := gocmp.Diff(want.String(), got.String()); diff != "" {
		t.Errorf("(-stored +prepared):\n%s\nif the change is right, run the test with -update-templates", diff)
	}
}

package server_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
)

// Abbreviations of the parameters of plugins.
type (
	ctx        = context.Context
	resourceOf = schema.GroupResource
)

// policy is a plugin as users of the library write them: it labels config maps by the number of existing
// ones, warns, and rejects writes.
type policy struct {
	mu   sync.Mutex
	seen []string
}

func (*policy) Name() string { return "Policy" }

func (*policy) Handles(_ admission.Operation, resource resourceOf, subresource string) bool {
	return resource.Resource == "configmaps" || resource.Group == "example.com" && subresource == ""
}

func (p *policy) Admit(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	p.mu.Lock()
	p.seen = append(p.seen, strings.TrimSpace(string(a.Operation)+" "+a.Name))
	p.mu.Unlock()
	if a.Operation != admission.Create {
		return nil
	}
	others := 0
	err := state.List(ctx, a.Resource.GroupResource(), a.Namespace, func(kind.Object) bool { others++; return true })
	labels := a.Object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels["others"] = strings.Repeat("i", others)
	a.Object.SetLabels(labels)
	a.Warn("this is number " + labels["others"])
	return err
}

func (p *policy) Validate(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	switch a.Name {
	case "forbidden":
		return a.Forbidden("the policy permits no %s of %s", a.Name, a.User)
	case "failing":
		return errors.New("the policy's database is unavailable")
	case "needs-boss":
		boss, err := state.Get(ctx, a.Resource.GroupResource(), a.Namespace, "boss")
		if err != nil || boss != nil {
			return err
		}
		return a.Forbidden("there is no boss")
	}
	if a.Operation == admission.Delete && a.Old.GetLabels()["keep"] != "" {
		return a.Forbidden("its label keep is set")
	}
	return nil
}

// A plugin changes, warns about and rejects writes of built-in and custom kinds, and reads the state.
func TestPlugin(t *testing.T) {
	t.Parallel()
	p := &policy{}
	w := start(t, func(o *bowline.Options) { o.Plugins = []admission.Plugin{p} })
	define(t, w, widgets())
	w.createConfigMaps(t, "default", "a")
	r := w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"b"}}`).want(t, http.StatusCreated)
	if got := valueAt(r.object(t), "metadata", "labels", "others"); got != "i" ||
		r.header.Get("Warning") != `299 - "this is number i"` {
		t.Errorf("the label is %v and the warning %q", got, r.header.Get("Warning"))
	}
	if got := valueAt(w.create(t, widgetsPath, widget("w", `{}`)), "metadata", "labels", "others"); got != "" {
		t.Errorf("the first widget is labelled %v", got)
	}
	s := w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"forbidden"}}`).wantError(t, http.StatusForbidden,
		metav1.StatusReasonForbidden, `configmaps "forbidden" is forbidden: the policy permits no forbidden of`)
	if s.Details == nil || s.Details.Name != "forbidden" || s.Details.Kind != "configmaps" {
		t.Errorf("details %+v", s.Details)
	}
	w.send(t, http.MethodPost, widgetsPath, widget("forbidden", `{}`)).wantError(t, http.StatusForbidden,
		metav1.StatusReasonForbidden, "the policy permits no")
	w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"failing"}}`).wantError(t,
		http.StatusInternalServerError,
		metav1.StatusReasonInternalError, `admission plugin "Policy" failed: the policy's database is unavailable`)
	w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"needs-boss"}}`).wantError(t, http.StatusForbidden,
		metav1.StatusReasonForbidden, "there is no boss")
	w.createConfigMaps(t, "default", "boss")
	w.createConfigMaps(t, "default", "needs-boss")

	w.send(t, http.MethodPatch, configMaps+"/a", `{"metadata":{"labels":{"keep":"yes"}}}`, "Content-Type",
		mergeType).want(t, http.StatusOK)
	w.send(t, http.MethodDelete, configMaps+"/a", "").wantError(t, http.StatusForbidden, metav1.StatusReasonForbidden,
		"its label keep is set")
	w.send(t, http.MethodDelete, configMaps+"/needs-boss", "").want(t, http.StatusOK) // its delete in the collection below may be rejected too
	w.send(t, http.MethodDelete, configMaps, "").wantError(t, http.StatusForbidden, metav1.StatusReasonForbidden,
		"its label keep is set")
	w.get(t, configMaps+"/a").want(t, http.StatusOK)
	p.mu.Lock()
	defer p.mu.Unlock()
	if got := strings.Join(p.seen, ", "); !strings.HasPrefix(got, "CREATE a, CREATE b, CREATE w, CREATE forbidden") ||
		!strings.Contains(got, "UPDATE a, DELETE a") {
		t.Errorf("the plugin saw %s", got)
	}
}

// breaking is a plugin that makes invalid changes, and panics.
type breaking struct{}

func (breaking) Name() string { return "Breaking" }
func (breaking) Handles(op admission.Operation, r resourceOf, _ string) bool {
	return op == admission.Create && r.Resource == "configmaps"
}
func (breaking) Admit(_ ctx, a *admission.Attributes, _ admission.Reader) error {
	switch a.Name {
	case "panic":
		panic("the plugin is broken")
	case "renamed":
		a.Object.SetNamespace("kube-system")
	case "invalid":
		a.Object.(*corev1.ConfigMap).Data = map[string]string{"bad key": "x"}
	}
	return nil
}
func (breaking) Validate(ctx, *admission.Attributes, admission.Reader) error { return nil }

// A faulty plugin affects only its own request, and its changes are validated.
func TestFaultyPlugin(t *testing.T) {
	t.Parallel()
	w := start(t, func(o *bowline.Options) { o.Plugins = []admission.Plugin{breaking{}} })
	w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"panic"}}`).want(t, http.StatusInternalServerError)
	w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"invalid"}}`).wantError(t,
		http.StatusUnprocessableEntity,
		metav1.StatusReasonInvalid, `data[bad key]`)
	w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"renamed"}}`).wantError(t, http.StatusBadRequest,
		metav1.StatusReasonBadRequest,
		"the namespace of the provided object does not match the namespace sent on the request")
	if got := w.names(t, "/api/v1/configmaps"); got != "" {
		t.Errorf("stored %q", got)
	}
}

// attributeMemory is a plugin whose Validate fails unless its Admit stored a value in the same attributes.
type attributeMemory struct{}

func (attributeMemory) Name() string { return "AttributeMemory" }
func (attributeMemory) Handles(op admission.Operation, _ resourceOf, _ string) bool {
	return op == admission.Delete
}
func (attributeMemory) Admit(_ ctx, a *admission.Attributes, _ admission.Reader) error {
	a.Remember("AttributeMemory", "admitted")
	return nil
}
func (attributeMemory) Validate(_ ctx, a *admission.Attributes, _ admission.Reader) error {
	if a.Remembered("AttributeMemory") != "admitted" {
		return errors.New("Validate got other attributes than Admit")
	}
	return nil
}

func TestDeletePassesSameAttributesToAdmitAndValidate(t *testing.T) {
	t.Parallel()
	w := start(t, func(o *bowline.Options) { o.Plugins = []admission.Plugin{attributeMemory{}} })
	w.createConfigMaps(t, "default", "a")
	w.send(t, http.MethodDelete, configMaps+"/a", "").want(t, http.StatusOK)
}

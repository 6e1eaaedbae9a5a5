package server_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// gadgets is another definition of the widgets' group.
func gadgets() *apiextensionsv1.CustomResourceDefinition {
	crd := widgets()
	crd.Name = "gadgets.example.com"
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Kind: "Gadget", ListKind: "GadgetList",
		Plural: "gadgets", Singular: "gadget"}
	return crd
}

// definitionCondition returns the status and the reason of a definition's condition.
func definitionCondition(t testing.TB, w *testPlane, name string,
	kind apiextensionsv1.CustomResourceDefinitionConditionType) string {
	t.Helper()
	var crd apiextensionsv1.CustomResourceDefinition
	w.get(t, definitionsPath+"/"+name).want(t, http.StatusOK).into(t, &crd)
	for _, c := range crd.Status.Conditions {
		if c.Type == kind {
			return string(c.Status) + " " + c.Reason
		}
	}
	return ""
}

// A definition is served when its create is answered: the next request creates an instance, a hundred times.
func TestDefinitionIsServedWhenCreateReturns(t *testing.T) {
	t.Parallel()
	w := start(t)
	concurrently(t, 10, func(ctx context.Context, i int) error {
		crd := widgets()
		crd.Spec.Group = fmt.Sprintf("g%d.example.com", i)
		crd.Name = "widgets." + crd.Spec.Group
		define(t, w, crd)
		body := fmt.Sprintf(`{"apiVersion":"%s/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"size":1}}`,
			crd.Spec.Group)
		r, err := w.try(ctx, http.MethodPost, "/apis/"+crd.Spec.Group+"/v1/namespaces/default/widgets",
			strings.NewReader(body))
		if err == nil && r.code != http.StatusCreated {
			return fmt.Errorf("%s: %d %s", crd.Name, r.code, r.body)
		}
		return err
	})
	if got := definitionCondition(t, w, "widgets.g3.example.com",
		apiextensionsv1.Established); got != "True InitialNamesAccepted" {
		t.Errorf("established: %s", got)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	w.get(t, definitionsPath+"/widgets.g3.example.com").into(t, &crd)
	if crd.Status.AcceptedNames.Kind != "Widget" || len(crd.Status.StoredVersions) != 1 || len(crd.Finalizers) == 0 &&
		crd.Generation != 1 {
		t.Errorf("status %+v", crd.Status)
	}
}

// A definition with a name of another kind of its group, typed or custom, is stored and not served, and its
// status reports the conflict. Its deletion does not affect the other kind. When the other kind is deleted,
// it is served.
func TestDefinitionNameConflict(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	w.create(t, widgetsPath, widget("mine", `{}`))
	clash := gadgets()
	clash.Spec.Names.Kind = "Widget"
	define(t, w, clash)
	if got := definitionCondition(t, w, clash.Name, apiextensionsv1.NamesAccepted); got != "False KindConflict" {
		t.Errorf("names accepted: %s", got)
	}
	if got := definitionCondition(t, w, clash.Name, apiextensionsv1.Established); !strings.HasPrefix(got, "False") {
		t.Errorf("established: %s", got)
	}
	w.get(t, "/apis/example.com/v1/namespaces/default/gadgets").want(t, http.StatusNotFound)
	undefine(t, w, clash.Name)
	if got := w.names(t, widgetsPath); got != "mine" {
		t.Errorf("widgets are %q after the delete of the conflicting definition", got)
	}
	clash = gadgets()
	clash.Spec.Names.ShortNames = []string{"wd"}
	define(t, w, clash)
	if got := definitionCondition(t, w, clash.Name, apiextensionsv1.NamesAccepted); got != "False ShortNamesConflict" {
		t.Errorf("names accepted: %s", got)
	}
	undefine(t, w, "widgets.example.com")
	if got := definitionCondition(t, w, clash.Name, apiextensionsv1.Established); !strings.HasPrefix(got, "True") {
		t.Errorf("established when the names are free: %s", got)
	}
	w.get(t, "/apis/example.com/v1/namespaces/default/gadgets").want(t, http.StatusOK)
}

// A definition with the name of a built-in kind does not affect that kind, neither while it exists nor when
// it is deleted.
func TestDefinitionCannotReplaceBuiltInKind(t *testing.T) {
	t.Parallel()
	w := start(t)
	leases := "/apis/coordination.k8s.io/v1/namespaces/default/leases"
	w.create(t, leases, `{"metadata":{"name":"mine"}}`)
	before := w.get(t, leases+"/mine").body
	for _, plural := range []string{"leases", "renters"} {
		crd := widgets()
		crd.Name, crd.Spec.Group = plural+".coordination.k8s.io", "coordination.k8s.io"
		crd.Annotations = map[string]string{"api-approved.kubernetes.io": "unapproved, a test"}
		crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Kind: "Lease", ListKind: "LeaseList",
			Plural: plural, Singular: "lease"}
		define(t, w, crd)
		if got := definitionCondition(t, w, crd.Name, apiextensionsv1.NamesAccepted); !strings.HasPrefix(got, "False") {
			t.Errorf("%s: names accepted: %s", plural, got)
		}
		if got := w.get(t, leases+"/mine").body; string(got) != string(before) {
			t.Errorf("%s: with the definition, the lease is %s", plural, got)
		}
		undefine(t, w, crd.Name)
		w.get(t, definitionsPath+"/"+crd.Name).want(t, http.StatusNotFound)
		if got := w.get(t, leases+"/mine").body; string(got) != string(before) {
			t.Errorf("%s: after the delete of the definition, the lease is %s", plural, got)
		}
	}
	w.create(t, leases, `{"metadata":{"name":"another"}}`)
}

// An updated definition is served at once: a new field and a new version, with the existing objects.
func TestDefinitionUpdateTakesEffectAtOnce(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	w.create(t, widgetsPath, widget("a", `{"size":1}`))
	patch := `[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/weight","value":{"type":"integer"}},
		{"op":"add","path":"/spec/versions/-","value":{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}]`
	w.send(t, http.MethodPatch, definitionsPath+"/widgets.example.com", patch, "Content-Type",
		jsonPatchType).want(t, http.StatusOK)
	patched := w.send(t, http.MethodPatch, widgetsPath+"/a", `{"spec":{"weight":5}}`, "Content-Type", mergeType).want(t,
		http.StatusOK).object(t)
	if valueAt(patched, "spec", "weight") != 5.0 {
		t.Errorf("patched %v", patched)
	}
	v2 := w.get(t, strings.Replace(widgetsPath, "v1", "v2", 1)+"/a").want(t, http.StatusOK).object(t)
	if v2["apiVersion"] != "example.com/v2" || valueAt(v2, "spec", "weight") != 5.0 {
		t.Errorf("as v2 it is %v", v2)
	}
	w.send(t, http.MethodPatch, definitionsPath+"/widgets.example.com",
		`[{"op":"replace","path":"/spec/versions/1/served","value":false}]`, "Content-Type",
		jsonPatchType).want(t, http.StatusOK)
	w.get(t, strings.Replace(widgetsPath, "v1", "v2", 1)+"/a").want(t, http.StatusNotFound)
	w.send(t, http.MethodPatch, definitionsPath+"/widgets.example.com", `{"spec":{"scope":"Cluster"}}`, "Content-Type",
		mergeType).wantError(t, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "spec.scope")
}

// Definitions from the documentation, v1beta1 with one version and no schema, accept the Networks of the
// documentation.
func TestV1beta1DefinitionsOfDocuments(t *testing.T) {
	t.Parallel()
	w := start(t)
	const folder = "../../examples/network/testdata/"
	for group, name := range map[string]string{"sample": "sample-net", "samplecrd": "example-network"} {
		definition := string(must(os.ReadFile(folder + group + "-crd.yaml"))(t))
		network := string(must(os.ReadFile(folder + group + "-network.yaml"))(t))
		created := w.send(t, http.MethodPost, strings.Replace(definitionsPath, "v1", "v1beta1", 1), definition,
			"Content-Type", yamlType).want(t, http.StatusCreated).object(t)
		if created["apiVersion"] != "apiextensions.k8s.io/v1beta1" || valueAt(created, "spec", "version") != "v1" {
			t.Errorf("created %v", created)
		}
		path := "/apis/" + group + ".k8s.io/v1/namespaces/default/networks"
		r := w.send(t, http.MethodPost, path, network, "Content-Type", yamlType).want(t, http.StatusCreated)
		stored := r.object(t)
		if valueAt(stored, "spec", "cidr") != "192.168.0.0/16" || len(r.header.Values("Warning")) > 0 {
			t.Errorf("%s: stored %v with warnings %q", group, stored, r.header.Values("Warning"))
		}
		if typo := valueAt(stored, "spec", "gatewar"); group == "sample" && typo != "192.168.0.1" {
			t.Errorf("without a schema the typo is %v", typo)
		}
		// without a status subresource the status is a field like others
		patched := w.send(t, http.MethodPatch, path+"/"+name, `{"status":{"ready":true}}`, "Content-Type",
			mergeType).want(t, http.StatusOK).object(t)
		if valueAt(patched, "status", "ready") != true || valueAt(patched, "metadata", "generation") != 2.0 {
			t.Errorf("%s: patched %v", group, patched)
		}
		var v1 apiextensionsv1.CustomResourceDefinition
		w.get(t, definitionsPath+"/networks."+group+".k8s.io").want(t, http.StatusOK).into(t, &v1)
		if v1.Spec.PreserveUnknownFields != true || v1.Spec.Versions[0].Name != "v1" {
			t.Errorf("as v1 it is %+v", v1.Spec)
		}
	}
}

// A misspelled field is a warning, or rejected by name.
func TestUnknownFieldOfSchema(t *testing.T) {
	t.Parallel()
	w := start(t)
	const folder = "../../examples/network/testdata/"
	w.create(t, definitionsPath, string(must(os.ReadFile(folder+"sample-crd-v1.yaml"))(t)))
	network := string(must(os.ReadFile(folder + "sample-network.yaml"))(t))
	network = strings.Replace(network, "    gatewar", "    gateway: 192.168.0.1\n    gatewar", 1)
	path := "/apis/sample.k8s.io/v1/namespaces/default/networks"
	w.send(t, http.MethodPost, path+"?fieldValidation=Strict", network, "Content-Type", yamlType).wantError(t,
		http.StatusBadRequest, metav1.StatusReasonBadRequest, `unknown field "spec.gatewar"`)
	r := w.send(t, http.MethodPost, path, network, "Content-Type", yamlType).want(t, http.StatusCreated)
	if got := r.header.Get("Warning"); got != `299 - "unknown field \"spec.gatewar\""` {
		t.Errorf("warning %s", got)
	}
}

// Many definitions of one group can be created, used and deleted concurrently.
func TestConcurrentDefinitions(t *testing.T) {
	t.Parallel()
	w := start(t)
	concurrently(t, 8, func(ctx context.Context, i int) error {
		crd := widgets()
		plural := fmt.Sprintf("things%d", i)
		crd.Name = plural + ".example.com"
		crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Kind: fmt.Sprintf("Thing%d", i),
			ListKind: fmt.Sprintf("Thing%dList", i), Plural: plural, Singular: fmt.Sprintf("thing%d", i)}
		body, err := jsonOf(crd)
		if err != nil {
			return err
		}
		for range 5 {
			instance := fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Thing%d","metadata":{"name":"a"},"spec":{}}`, i)
			for _, step := range []struct{ method, path, body string }{
				{http.MethodPost, definitionsPath, body},
				{http.MethodPost, "/apis/example.com/v1/namespaces/default/" + plural, instance},
				{http.MethodDelete, definitionsPath + "/" + crd.Name, ""},
			} {
				r, err := w.try(ctx, step.method, step.path, strings.NewReader(step.body))
				if err != nil {
					return err
				}
				if r.code >= 300 {
					return fmt.Errorf("%s %s: %d %s", step.method, step.path, r.code, r.body)
				}
			}
		}
		return nil
	})
}

package core

import (
	"context"
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/golden"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// kindsByResource maps the resources in paths to the kinds of this package.
func kindsByResource() map[string]kind.Kind {
	kinds := map[string]kind.Kind{}
	for _, k := range Kinds(object.NewCache(1 << 20)) {
		kinds[k.Info().Plural] = k
	}
	return kinds
}

// parsePath parses a path.
func parsePath(path string) (apiVersion, namespace, resource, name string) {
	path, _, _ = strings.Cut(path, "?")
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if parts[0] == "api" {
		apiVersion, parts = parts[1], parts[2:]
	} else {
		apiVersion, parts = parts[1]+"/"+parts[2], parts[3:]
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		namespace, parts = parts[1], parts[2:]
	}
	if len(parts) > 1 {
		name = parts[1]
	}
	return apiVersion, namespace, parts[0], name
}

// created processes a create without a server: decode, prepare, assign, validate.
func created(k kind.Kind, apiVersion, namespace string, body []byte, taken func(kind.Claim) bool) (kind.Object, error) {
	obj, _, err := k.DecodeRequest(object.Form{APIVersion: apiVersion}, body, false)
	if err != nil {
		return nil, err
	}
	obj.SetNamespace(namespace)
	k.Prepare(obj, nil, "")
	var errs field.ErrorList
	if c := k; c.Info().Claims {
		if errs, err = c.Assign(obj, nil, kind.Values{Taken: taken, Ranges: defaultRange}); err != nil {
			return nil, apierrors.NewInternalError(err)
		}
	}
	if len(errs) == 0 {
		name := validation.ValidateNameFunc(k.Info().ValidName)
		if name == nil {
			name = validation.NameIsDNSSubdomain
		}
		errs = validation.ValidateObjectMetaAccessor(obj, k.Info().Namespaced, name, field.NewPath("metadata"))
		errs = append(errs, k.Validate(context.Background(), obj, nil, "")...)
	}
	if len(errs) > 0 {
		gk := schema.GroupKind{Group: k.Info().Endpoints[0].Group, Kind: k.Info().Kind}
		return nil, apierrors.NewInvalid(gk, obj.GetName(), errs)
	}
	return obj, nil
}

func free(kind.Claim) bool { return false }

func defaultRange() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix(kind.DefaultServiceRange)}
}

// skippedCreates lists the recorded creates whose response other packages produce.
var skippedCreates = map[string]map[int]string{
	"configmap-write.json": {
		1: "the name is taken", 11: "the namespace is compared with the URL", 12: "admission knows the namespace",
		13: "the kind is compared with the URL", 14: "the server fills in the version",
		15: "the server fills in the kind",
		16: "the server reads the header", 17: "the server reads the header", 18: "the server reads the header",
		28: "the server frames decoding errors", 30: "the server frames decoding errors",
		33: "the server asks for strictness",
		35: "the server reads the options", 36: "the server asks for strictness", 37: "YAML", 38: "YAML", 39: "YAML",
		40: "the server reads the content type", 41: "the server reads Accept", 46: "the server reads the options",
		31: "1.37 words it otherwise",
		47: "the server generates names", 66: "the method is not served",
	},
	"namespaces.json": {5: "the name is taken", 9: "admission knows the namespace"},
	"kinds.json":      {32: "admission adds a taint"},
}

// TestCreatesMatchRecordings processes each recorded create of these kinds, and compares the resulting
// object or error with the recorded response.
func TestCreatesMatchRecordings(t *testing.T) {
	t.Parallel()
	kinds := kindsByResource()
	compared := 0
	for _, file := range []string{"configmap-write.json", "namespaces.json", "kinds.json"} {
		for i, s := range golden.Steps(t, file) {
			apiVersion, namespace, resource, _ := parsePath(s.Path)
			k := kinds[resource]
			if s.Method != "POST" || s.StatusOnly || k == nil || resource == "pods" || skippedCreates[file][i] != "" ||
				k.Info().Endpoint(gv(apiVersion)) == nil {
				continue
			}
			compared++
			obj, err := created(k, apiVersion, namespace, []byte(s.Body), free)
			var got []byte
			if err != nil {
				got, _ = json.Marshal(err.(apierrors.APIStatus).Status())
			} else if got, err = k.Encode(object.Form{APIVersion: apiVersion}, obj); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(comparable(t, s.Response.Body), comparable(t, got)); diff != "" {
				t.Errorf("%s[%d]: %s", file, i, diff)
			}
		}
	}
	if compared < 28 {
		t.Errorf("only %d creates were compared", compared)
	}
}

func gv(apiVersion string) schema.GroupVersion {
	v, _ := schema.ParseGroupVersion(apiVersion)
	return v
}

// comparable returns JSON as a value, without addresses, times, and what the server and its plugins add.
func comparable(t *testing.T, data []byte) any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	if v["status"] == "Failure" {
		v["kind"], v["apiVersion"] = "Status", "v1"
	}
	if meta, ok := v["metadata"].(map[string]any); ok {
		for _, f := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation",
			"finalizers"} {
			delete(meta, f)
		}
	}
	if status, ok := v["status"].(map[string]any); ok {
		delete(status, "lastPhaseTransitionTime")
	}
	if spec, ok := v["spec"].(map[string]any); ok {
		if ip, ok := spec["clusterIP"].(string); ok && ip != "None" {
			spec["clusterIP"], spec["clusterIPs"] = "an address", "addresses"
		}
		if ports, ok := spec["ports"].([]any); ok {
			for _, p := range ports {
				if port := p.(map[string]any); port["nodePort"] != nil {
					port["nodePort"] = "a port"
				}
			}
		}
	}
	return v
}

// TestTablesMatchRecordings compares the columns and cells of each recorded table of these kinds.
func TestTablesMatchRecordings(t *testing.T) {
	t.Parallel()
	kinds := kindsByResource()
	steps := golden.Steps(t, "kinds.json")
	compared := 0
	for i, s := range steps {
		apiVersion, namespace, resource, _ := parsePath(s.Path)
		k := kinds[resource]
		var table metav1.Table
		if s.Method != "GET" || k == nil || json.Unmarshal(s.Response.Body, &table) != nil ||
			k.Info().Endpoint(gv(apiVersion)) == nil {
			continue
		}
		compared++
		if diff := cmp.Diff(table.ColumnDefinitions, k.Columns(apiVersion)); diff != "" {
			t.Errorf("[%d] columns: %s", i, diff)
		}
		obj, err := created(k, apiVersion, namespace, []byte(steps[i-1].Body), free)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Date(2026, 11, 21, 9, 11, 47, 0, time.UTC)
		obj.SetCreationTimestamp(recordedCreation(t, steps[i-1].Response.Body, now))
		copyAssigned(t, obj, steps[i-1].Response.Body)
		row, err := k.Row(obj, apiVersion, now)
		if err != nil {
			t.Fatal(err)
		}
		data, _ := json.Marshal(row)
		var got []any
		_ = json.Unmarshal(data, &got)
		if diff := cmp.Diff(table.Rows[0].Cells, got, cmp.Transformer("number", func(n int64) float64 {
			return float64(n)
		})); diff != "" {
			t.Errorf("[%d] row: %s", i, diff)
		}
	}
	if compared < 14 {
		t.Errorf("%d tables were compared, want at least 14", compared)
	}
}

// recordedCreation returns the creation time of the recorded object where the table shows it, and otherwise now: ages
// were recorded within a second.
func recordedCreation(t *testing.T, answer []byte, now time.Time) metav1.Time {
	t.Helper()
	var was metav1.PartialObjectMetadata
	if err := json.Unmarshal(answer, &was); err != nil {
		t.Fatal(err)
	}
	if was.Kind == "LimitRange" {
		return was.CreationTimestamp
	}
	return metav1.NewTime(now)
}

// copyAssigned copies the addresses and ports of the recorded service.
func copyAssigned(t *testing.T, obj kind.Object, answer []byte) {
	t.Helper()
	if s, ok := obj.(*corev1.Service); ok {
		var was corev1.Service
		if err := json.Unmarshal(answer, &was); err != nil {
			t.Fatal(err)
		}
		s.Spec = was.Spec
	}
}

// TestColumnsMatchRealServer compares names, types, formats and priorities with facts/columns.json.
func TestColumnsMatchRealServer(t *testing.T) {
	t.Parallel()
	var facts map[string][][4]any
	if err := json.Unmarshal(golden.File(t, "facts/columns.json"), &facts); err != nil {
		t.Fatal(err)
	}
	for resource, k := range kindsByResource() {
		if !k.Info().HasVerb("list") {
			continue
		}
		for _, e := range k.Info().Endpoints {
			want, ok := facts[e.APIVersion()+" "+resource]
			if !ok {
				t.Errorf("%s %s: no facts", e.APIVersion(), resource)
				continue
			}
			var got [][4]any
			for _, c := range k.Columns(e.APIVersion()) {
				got = append(got, [4]any{c.Name, c.Type, c.Format, float64(c.Priority)})
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s %s: %s", e.APIVersion(), resource, diff)
			}
		}
	}
}

// TestEventConversion reads events through the other endpoint: kinds2-other-versions.json[3]
// and [4].
func TestEventConversion(t *testing.T) {
	t.Parallel()
	k := kindsByResource()["events"]
	other := golden.Steps(t, "kinds2-other-versions.json")
	for i, s := range golden.Steps(t, "kinds.json") {
		read := map[int]int{18: 3, 64: 4}[i]
		if read == 0 {
			continue
		}
		apiVersion, namespace, _, _ := parsePath(s.Path)
		obj, err := created(k, apiVersion, namespace, []byte(s.Body), free)
		if err != nil {
			t.Fatal(err)
		}
		for _, format := range []object.Format{object.JSON, object.Protobuf} {
			stored, err := k.Encode(object.Form{APIVersion: "v1", Format: format}, obj)
			if err != nil {
				t.Fatal(err)
			}
			back, err := k.Decode(object.Form{APIVersion: "v1", Format: format}, stored)
			if err != nil {
				t.Fatal(err)
			}
			shown, err := k.Encode(object.Form{APIVersion: map[string]string{"v1": eventsAPIVersion,
				eventsAPIVersion: "v1"}[apiVersion]}, back)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(comparable(t, other[read].Response.Body), comparable(t, shown)); diff != "" {
				t.Errorf("[%d] as %s: %s", read, format, diff)
			}
		}
	}
}

// TestImmutableConfigMapErrorsMatchRecordings replays configmap-write.json[49] and [50].
func TestImmutableConfigMapErrorsMatchRecordings(t *testing.T) {
	t.Parallel()
	k := kindsByResource()["configmaps"]
	old := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "imm"}, Data: map[string]string{"a": "b"},
		Immutable: new(true)}
	data, immutable := old.DeepCopy(), old.DeepCopy()
	data.Data["a"] = "c"
	immutable.Immutable = new(false)
	steps := golden.Steps(t, "configmap-write.json")
	for i, obj := range map[int]*corev1.ConfigMap{49: data, 50: immutable} {
		status := apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "imm",
			k.Validate(t.Context(), obj, old, "")).Status()
		got, _ := json.Marshal(status)
		if diff := cmp.Diff(comparable(t, steps[i].Response.Body), comparable(t, got)); diff != "" {
			t.Errorf("[%d]: %s", i, diff)
		}
	}
}

package core

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
	"github.com/bowline-dev/bowline/internal/object"
)

// newClaim returns a claim for a gibibyte, merged with an overlay, as the pipeline prepares it for a create or
// for an update of old.
func newClaim(t *testing.T, k kind.Kind, old *corev1.PersistentVolumeClaim, sub,
	overlay string) *corev1.PersistentVolumeClaim {
	t.Helper()
	c := &corev1.PersistentVolumeClaim{}
	for _, text := range []string{`{metadata: {name: c}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`, overlay} {
		if err := yaml.UnmarshalStrict([]byte(text), c); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	podspec.DefaultClaim(c)
	if old == nil {
		k.Prepare(c, nil, sub)
	} else {
		k.Prepare(c, old, sub)
	}
	return c
}

func TestClaimRules(t *testing.T) {
	t.Parallel()
	k := claimKind(object.NewCache(1 << 20))
	const bound = `{spec: {volumeName: v}, status: {phase: Bound, capacity: {storage: 1Gi}}}`
	for _, r := range []struct{ rule, source, old, sub, is, want string }{
		{"the least that it needs", "", "", "", `{}`, ``},
		{"an access mode", "ValidatePersistentVolumeClaimSpec", "", "", `{spec: {accessModes: []}}`,
			`spec.accessModes: Required value: at least 1 access mode is required`},
		{"some storage", "ValidatePersistentVolumeClaimSpec", "", "", `{spec: {resources: {requests: {storage: "0"}}}}`,
			`spec.resources[storage]: Invalid value: "0": must be greater than zero`},
		{"the order of errors", "ValidatePersistentVolumeClaimSpec", "", "", `{metadata: {finalizers: [mine]}, spec: {accessModes: [X], selector: ` +
			`{matchLabels: {a: "-"}}, dataSource: {kind: PersistentVolumeClaim, name: ""}, volumeAttributesClassName: "-"}}`,
			`[metadata.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified, ` +
				`spec.selector.matchLabels: Invalid value: "-": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?'), ` +
				`spec.accessModes: Unsupported value: "X": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod", ` +
				`spec.dataSource.name: Required value, spec.dataSourceRef.name: Required value, ` +
				`spec.volumeAttributesClassName: Invalid value: "-": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')]`},
		{"an update of a source may name any group", "allowInvalidAPIGroupInDataSourceOrRef",
			`{spec: {dataSourceRef: {apiGroup: a.b, kind: C, name: d}}}`, "", `{spec: {dataSourceRef: {apiGroup: A_b, kind: C, name: d}}}`,
			"spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n" +
				"@@ -13,12 +13,12 @@\n  \"StorageClassName\": null,\n  \"VolumeMode\": \"Filesystem\",\n  \"DataSource\": {\n-  \"APIGroup\": \"a.b\",\n+  \"APIGroup\": \"A_b\",\n" +
				"   \"Kind\": \"C\",\n   \"Name\": \"d\"\n  },\n  \"DataSourceRef\": {\n-  \"APIGroup\": \"a.b\",\n+  \"APIGroup\": \"A_b\",\n   \"Kind\": \"C\",\n   \"Name\": \"d\",\n   \"Namespace\": null\n"},
		{"both sources are one", "ValidatePersistentVolumeClaimSpec", "", "",
			`{spec: {dataSource: {kind: PersistentVolumeClaim, name: a}, dataSourceRef: {kind: PersistentVolumeClaim, name: b}}}`,
			`spec: Invalid value: {}: must match dataSourceRef`},
		{"a source in another namespace is not taken", "DropDisabledFields", "", "",
			`{spec: {dataSourceRef: {kind: PersistentVolumeClaim, name: b, namespace: other}}}`, ``},
		{"a finalizer has a domain", "ValidateObjectMeta", "", "", `{metadata: {finalizers: [mine]}}`,
			`metadata.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified`},
		{"a claim is bound", "ValidatePersistentVolumeClaimUpdate", `{}`, "", `{spec: {volumeName: v}}`, ``},
		{"to one volume", "ValidatePersistentVolumeClaimUpdate", bound, "", `{spec: {volumeName: w}}`,
			"spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n" +
				"@@ -9,7 +9,7 @@\n    \"storage\": \"1Gi\"\n   }\n  },\n- \"VolumeName\": \"v\",\n+ \"VolumeName\": \"w\",\n  \"StorageClassName\": null,\n" +
				"  \"VolumeMode\": \"Filesystem\",\n  \"DataSource\": null,\n"},
		{"a bound claim grows", "ValidatePersistentVolumeClaimUpdate", bound, "",
			`{spec: {volumeName: v, resources: {requests: {storage: 2Gi}}}}`, ``},
		{"it does not shrink", "ValidatePersistentVolumeClaimUpdate", bound, "",
			`{spec: {volumeName: v, resources: {requests: {storage: 1Mi}}}}`,
			`spec.resources.requests.storage: Forbidden: field can not be less than status.capacity`},
		{"a claim without a class gets one", "validateStorageClassUpgradeFromNil", `{}`, "",
			`{spec: {storageClassName: fast}}`, ``},
		{"an annotation becomes a class", "validateStorageClassUpgradeFromAnnotation",
			`{metadata: {annotations: {volume.beta.kubernetes.io/storage-class: fast}}}`, "",
			`{spec: {storageClassName: fast}}`, ``},
		{"an annotation with a class stays", "ValidateImmutableAnnotation",
			`{metadata: {annotations: {volume.beta.kubernetes.io/storage-class: fast}}}`, "", `{}`,
			`metadata.annotations.volume.beta.kubernetes.io/storage-class: Invalid value: "": field is immutable`},
		{"a status is of storage", "ValidatePersistentVolumeClaimStatusUpdate", `{}`, "status",
			`{status: {allocatedResources: {cpu: 1}, allocatedResourceStatuses: {storage: Odd}}}`,
			`[status.allocatedResourceStatuses: Unsupported value: "storage": supported values: "ControllerResizeInProgress", ` +
				`"ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizePending", ` +
				`status.allocatedResources: Unsupported value: "cpu": supported values: "storage"]`},
	} {
		var old *corev1.PersistentVolumeClaim
		var was kind.Object
		if r.old != "" {
			old = newClaim(t, k, nil, "", `{}`)
			if err := yaml.UnmarshalStrict([]byte(r.old), old); err != nil {
				t.Fatal(err)
			}
			was = old
		}
		got := ""
		if errs := k.Validate(t.Context(), newClaim(t, k, old, r.sub, r.is), was, r.sub); len(errs) > 0 {
			got = errs.ToAggregate().Error()
		}
		if got != r.want {
			t.Errorf("%s (%s):\n got %s\nwant %s", r.rule, r.source, got, r.want)
		}
	}
}

func TestDataSourceFieldsAreSynchronized(t *testing.T) {
	t.Parallel()
	k := claimKind(object.NewCache(1 << 20))
	for is, want := range map[string]bool{
		`{spec: {dataSource: {kind: PersistentVolumeClaim, name: a}}}`:                                  true,
		`{spec: {dataSource: {kind: VolumeSnapshot, name: a, apiGroup: snapshot.storage.k8s.io}}}`:      true,
		`{spec: {dataSourceRef: {kind: Populator, name: a, apiGroup: example.com}}}`:                    true,
		`{spec: {dataSource: {kind: Populator, name: a, apiGroup: example.com}}}`:                       false,
		`{spec: {dataSourceRef: {kind: PersistentVolumeClaim, name: a, namespace: somewhere-in-here}}}`: false,
	} {
		spec := newClaim(t, k, nil, "", is).Spec
		if both := spec.DataSource != nil && spec.DataSourceRef != nil &&
			spec.DataSource.Name == spec.DataSourceRef.Name; both != want {
			t.Errorf("%s: dataSource %v, dataSourceRef %v, want them equal: %t", is, spec.DataSource,
				spec.DataSourceRef, want)
		}
	}
}

func TestClaimRows(t *testing.T) {
	t.Parallel()
	k := claimKind(object.NewCache(1 << 20))
	c := newClaim(t, k, nil, "", `{metadata: {annotations: {volume.beta.kubernetes.io/storage-class: slow}}}`)
	c.Spec.VolumeName, c.Status.Phase = "v", corev1.ClaimBound
	c.Status.Capacity = c.Spec.Resources.Requests
	c.Status.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany, corev1.ReadWriteOnce}
	row, err := k.Row(c, "v1", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	want := []any{"c", "Bound", "v", "1Gi", "RWO,RWX", "slow", "<unset>", row[7], "Filesystem"}
	if !slices.Equal(row, want) {
		t.Errorf("row %v, want %v", row, want)
	}
	if warnings := k.Warnings(c, nil, ""); len(warnings) != 1 {
		t.Errorf("warnings %q, want 1", warnings)
	}
}

package storage

import (
	"strings"
	"testing"

	storagev1 "k8s.io/api/storage/v1"

	"github.com/bowline-dev/bowline/internal/object"
)

func node(drivers ...string) string {
	return `{"spec":{"drivers":[` + strings.Join(drivers, ",") + `]}}`
}

// TestNodeRules checks the rules of ValidateCSINode and ValidateCSINodeUpdate.
func TestNodeRules(t *testing.T) {
	t.Parallel()
	const a = `{"name":"A.example.com","nodeID":"1","topologyKeys":["zone"]}`
	longID := strings.Repeat("x", 257)
	check(t, nodeKind(object.NewCache(1)), []rule{
		{name: "no drivers", body: node()},
		{name: "a driver", body: node(a)},
		{name: "an empty driver", body: node(`{}`), want: []string{
			"spec.drivers[0].name: Required value", "spec.drivers[0].nodeID: Required value"}},
		{name: "wrong names", body: node(`{"name":"` + strings.Repeat("a", 63) + `_","nodeID":"` + longID + `"}`),
			want: []string{"spec.drivers[0].name: Too long: may not be more than 63 bytes",
				`spec.drivers[0].name: Invalid value: "` + strings.Repeat("a", 63) + `_": ` + subdomain,
				`spec.drivers[0].nodeID: Invalid value: "` + longID + `": must be 256 characters or less`}},
		{name: "a negative count", body: node(`{"name":"a","nodeID":"1","allocatable":{"count":-1}}`), want: []string{
			"spec.drivers[0].allocatable.count: Invalid value: -1: must be greater than or equal to 0"}},
		{name: "two drivers of one name", body: node(a, a), want: []string{
			`spec.drivers[1].name: Duplicate value: "A.example.com"`}},
		{name: "wrong topology keys", body: node(`{"name":"a","nodeID":"1","topologyKeys":["z","z",""]}`),
			want: []string{`spec.drivers[0]: Duplicate value: "z"`, "spec.drivers[0]: Required value",
				`spec.drivers[0]: Invalid value: "": name part must be non-empty`,
				`spec.drivers[0]: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`}},
		{name: "added and removed drivers", old: node(a), body: node(`{"name":"b","nodeID":"1"}`)},
		{name: "another count", old: node(a), body: node(strings.Replace(a, `"topologyKeys"`,
			`"allocatable":{"count":5},"topologyKeys"`, 1))},
		{name: "another node", old: node(a), body: node(strings.Replace(a, `"1"`, `"2"`, 1)), want: []string{
			`spec.drivers: Invalid value: {"Name":"A.example.com","NodeID":"2","TopologyKeys":["zone"],"Allocatable":null}: field is immutable`}},
	})
}

// TestNodeStatusRules checks the rules of ValidateCSINodeStatusUpdate.
func TestNodeStatusRules(t *testing.T) {
	t.Parallel()
	health := func(all ...string) string {
		return `{"status":{"storageHealth":[` + strings.Join(all, ",") + `]}}`
	}
	const degraded = `{"status":"StorageDegraded","reason":"Slow","accessMode":"ReadOnlyMany","volumeMode":"Block"}`
	check(t, nodeKind(object.NewCache(1)), []rule{
		{name: "a condition", old: `{}`, sub: "status", body: health(`{"name":"a","healthConditions":[` + degraded + `]}`)},
		{name: "no names", old: `{}`, sub: "status", body: health(`{}`, `{}`), want: []string{
			"status.storageHealth[0].name: Required value", `status.storageHealth[1]: Duplicate value: ""`,
			"status.storageHealth[1].name: Required value"}},
		{name: "too many conditions", old: `{}`, sub: "status",
			body: health(`{"name":"a","healthConditions":[` + strings.Repeat(degraded+",", 16) + degraded + `]}`),
			want: []string{"status.storageHealth[0].healthConditions: Too many: 17: must have at most 16 items"}},
		{name: "wrong conditions", old: `{}`, sub: "status", body: health(`{"name":"a","healthConditions":[` +
			`{"accessMode":"Odd","volumeMode":"Odd","message":"` + strings.Repeat("x", 1025) + `"},` +
			`{"status":"StorageDegraded","reason":"a b"},` +
			`{"status":"StorageDegraded","reason":"` + strings.Repeat("x", 257) + `"}]}`), want: []string{
			`status.storageHealth[0].healthConditions[0].status: Unsupported value: "": supported values: "StorageDegraded", "StorageUnreachable"`,
			"status.storageHealth[0].healthConditions[0].reason: Required value",
			"status.storageHealth[0].healthConditions[0].message: Too long: may not be more than 1024 bytes",
			`status.storageHealth[0].healthConditions[0].accessMode: Unsupported value: "Odd": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"`,
			`status.storageHealth[0].healthConditions[0].volumeMode: Unsupported value: "Odd": supported values: "Filesystem", "Block"`,
			`status.storageHealth[0].healthConditions[1].reason: Invalid value: "a b": a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')`,
			"status.storageHealth[0].healthConditions[2].reason: Too long: may not be more than 256 bytes"}},
		{name: "the spec is not validated", old: `{}`, sub: "status", body: node(`{}`)},
	})
}

// TestNodeHealthIsDropped checks that a write cannot add storage health to a node, because a feature gate disables the
// field.
func TestNodeHealthIsDropped(t *testing.T) {
	t.Parallel()
	k := nodeKind(object.NewCache(1))
	const healthy = `{"metadata":{"labels":{"a":"b"}},"status":{"storageHealth":[{"name":"a"}]}}`
	for _, old := range []string{"", `{}`, healthy} {
		n := read(t, k, healthy).(*storagev1.CSINode)
		want := 0
		if old == "" {
			k.Prepare(n, nil, "")
		} else {
			was := read(t, k, old).(*storagev1.CSINode)
			k.Prepare(n, was, "status")
			want = len(was.Status.StorageHealth)
			if len(n.Labels) != len(was.Labels) {
				t.Errorf("a write of the status changes the labels from %v to %v", was.Labels, n.Labels)
			}
		}
		if len(n.Status.StorageHealth) != want {
			t.Errorf("a write after %q stores %v", old, n.Status.StorageHealth)
		}
	}
	checkRow(t, k, node(`{"name":"a","nodeID":"1"}`, `{"name":"b","nodeID":"1"}`), int64(2))
}

// TestNodeErrorsAreBounded checks that validating many drivers of the same name does not take quadratic time.
func TestNodeErrorsAreBounded(t *testing.T) {
	t.Parallel()
	k := nodeKind(object.NewCache(1))
	n, old := &storagev1.CSINode{}, &storagev1.CSINode{}
	n.Spec.Drivers = make([]storagev1.CSINodeDriver, 100_000)
	old.Spec.Drivers = make([]storagev1.CSINodeDriver, 100_000)
	for i := range old.Spec.Drivers {
		old.Spec.Drivers[i].NodeID = "x"
	}
	if count := len(k.Validate(t.Context(), n, old, "")); count == 0 || count > 3*maxErrors {
		t.Errorf("%d errors", count)
	}
	one := []storagev1.CSINodeDriver{{Name: "a", NodeID: "1", TopologyKeys: make([]string, 100_000)}}
	if count := len(k.Validate(t.Context(), &storagev1.CSINode{Spec: storagev1.CSINodeSpec{Drivers: one}}, nil, "")); count == 0 ||
		count > 2*maxErrors {
		t.Errorf("%d errors for topology keys", count)
	}
}

package storage

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/bowline-dev/bowline/internal/object"
)

func driver(fields ...string) string { return `{"spec":{` + strings.Join(fields, ",") + `}}` }

// TestDriverRules checks the rules of ValidateCSIDriver and ValidateCSIDriverUpdate.
func TestDriverRules(t *testing.T) {
	t.Parallel()
	check(t, driverKind(object.NewCache(1)), []rule{
		{name: "the defaults", body: driver()},
		{name: "an unknown policy", body: driver(`"fsGroupPolicy":"Some"`), want: []string{
			`spec.fsGroupPolicy: Unsupported value: "Some": supported values: "File", "None", "ReadWriteOnceWithFSType"`}},
		{name: "an unknown mode", body: driver(`"volumeLifecycleModes":["Ephemeral","Other"]`), want: []string{
			`spec.volumeLifecycleModes: Unsupported value: "Other": supported values: "Persistent", "Ephemeral"`}},
		{name: "a short period", body: driver(`"nodeAllocatableUpdatePeriodSeconds":9`), want: []string{
			"spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be greater than or equal to 10 seconds"}},
		{name: "the shortest period", body: driver(`"nodeAllocatableUpdatePeriodSeconds":10`)},
		{name: "secrets without tokens", body: driver(`"serviceAccountTokenInSecrets":false`), want: []string{
			"spec.serviceAccountTokenInSecrets: Invalid value: false: serviceAccountTokenInSecrets is set but no tokenRequests are specified"}},
		{name: "tokens", body: driver(`"tokenRequests":[{"audience":""},{"audience":"a","expirationSeconds":600},`+
			`{"audience":"b","expirationSeconds":4294967296}]`, `"serviceAccountTokenInSecrets":true`)},
		{name: "wrong tokens", body: driver(`"tokenRequests":[{"audience":"a","expirationSeconds":599},` +
			`{"audience":"a","expirationSeconds":1},{"audience":"b","expirationSeconds":4294967297}]`), want: []string{
			"spec.tokenRequests[0].expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes",
			`spec.tokenRequests[1].audience: Duplicate value: "a"`,
			"spec.tokenRequests[2].expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds"}},
		{name: "mutable fields", old: driver(), body: driver(`"podInfoOnMount":true`, `"storageCapacity":true`,
			`"fsGroupPolicy":"None"`, `"requiresRepublish":true`, `"seLinuxMount":true`,
			`"preventPodSchedulingIfMissing":true`)},
		{name: "immutable fields", old: driver(), body: driver(`"attachRequired":false`,
			`"volumeLifecycleModes":["Ephemeral"]`), want: []string{
			"spec.attachedRequired: Invalid value: false: field is immutable",
			`spec.volumeLifecycleModes: Invalid value: ["Ephemeral"]: field is immutable`}},
	})
}

// TestDriverFieldsAreRequired checks a driver without defaults, as a damaged store may have it.
func TestDriverFieldsAreRequired(t *testing.T) {
	t.Parallel()
	var got []string
	for _, e := range validateDriver(&storagev1.CSIDriver{}, nil, "") {
		got = append(got, e.Error())
	}
	want := []string{"spec.attachedRequired: Required value", "spec.podInfoOnMount: Required value",
		"spec.storageCapacity: Required value", "spec.seLinuxMount: Required value",
		"spec.preventPodSchedulingIfMissing: Required value"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	many := &storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{
		VolumeLifecycleModes: make([]storagev1.VolumeLifecycleMode, 100_000),
		TokenRequests:        make([]storagev1.TokenRequest, 100_000)}}
	if n := len(validateDriver(many, nil, "")); n > 2*maxErrors {
		t.Errorf("%d errors", n)
	}
}

func TestDriverDefaults(t *testing.T) {
	t.Parallel()
	got := read(t, driverKind(object.NewCache(1)), `{}`).(*storagev1.CSIDriver).Spec
	want := storagev1.CSIDriverSpec{
		AttachRequired: new(true), PodInfoOnMount: new(false), StorageCapacity: new(false),
		FSGroupPolicy:        new(storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy),
		VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent},
		RequiresRepublish:    new(false), SELinuxMount: new(false), PreventPodSchedulingIfMissing: new(false),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	set := read(t, driverKind(object.NewCache(1)), driver(`"attachRequired":false`, `"seLinuxMount":true`)).(*storagev1.CSIDriver)
	if *set.Spec.AttachRequired || !*set.Spec.SELinuxMount {
		t.Errorf("the defaults replace %+v", set.Spec)
	}
}

func TestDriverGenerationCountsChangesOfTheSpec(t *testing.T) {
	t.Parallel()
	k := driverKind(object.NewCache(1))
	old := read(t, k, driver())
	if k.Prepare(old, nil, ""); old.GetGeneration() != 0 {
		t.Errorf("the generation of a new driver is %d", old.GetGeneration())
	}
	same := read(t, k, `{"metadata":{"labels":{"a":"b"}}}`)
	if k.Prepare(same, old, ""); same.GetGeneration() != 0 {
		t.Errorf("after a change of the labels, the generation is %d", same.GetGeneration())
	}
	changed := read(t, k, driver(`"podInfoOnMount":true`))
	if k.Prepare(changed, old, ""); changed.GetGeneration() != 1 {
		t.Errorf("after a change of the spec, the generation is %d", changed.GetGeneration())
	}
}

func TestDriverWarnings(t *testing.T) {
	t.Parallel()
	k := driverKind(object.NewCache(1))
	const warning = "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes"
	tokens := driver(`"tokenRequests":[{"audience":"a"}]`)
	checkWarnings(t, k, driver(), "")
	checkWarnings(t, k, tokens, "", warning)
	checkWarnings(t, k, tokens, driver(), warning)
	checkWarnings(t, k, tokens, tokens)
	checkWarnings(t, k, driver(), tokens)
	checkWarnings(t, k, driver(`"tokenRequests":[{"audience":"a"}]`, `"serviceAccountTokenInSecrets":false`), "")
}

func TestDriverRows(t *testing.T) {
	t.Parallel()
	k := driverKind(object.NewCache(1))
	checkRow(t, k, driver(), true, false, false, "<unset>", false, "Persistent")
	checkRow(t, k, driver(`"attachRequired":false`, `"podInfoOnMount":true`, `"storageCapacity":true`,
		`"requiresRepublish":true`, `"tokenRequests":[{"audience":"a"},{"audience":"b"}]`,
		`"volumeLifecycleModes":["Persistent","Ephemeral"]`),
		false, true, true, "a,b", true, "Persistent,Ephemeral")
	row := driverRow(&storagev1.CSIDriver{}, now)
	if row[1] != true || row[6] != "<none>" {
		t.Errorf("the row of a driver without defaults: %v", row)
	}
}

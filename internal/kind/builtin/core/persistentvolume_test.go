package core

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/object"
)

// volumeOf returns a volume of a gibibyte with these fields of its spec.
func volumeOf(fields ...string) string {
	return `{"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},` + strings.Join(fields, ",") + `}}`
}

const (
	onNFS    = `"nfs":{"server":"s","path":"/a"}`
	onDriver = `"csi":{"driver":"csi.example.com","volumeHandle":"h"}`
)

// affinity returns a node affinity with one requirement.
func affinity(key, value string) string {
	return `"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"` + key +
		`","operator":"In","values":["` + value + `"]}]}]}}`
}

// TestPersistentVolumeRules checks the rules of ValidatePersistentVolumeSpec and checkMountOption.
func TestPersistentVolumeRules(t *testing.T) {
	t.Parallel()
	const subdomain = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`
	check(t, "persistentvolumes", []rule{
		{name: "the least that it needs", body: volumeOf(onNFS)},
		{name: "nothing", body: `{}`, want: []string{"spec.accessModes: Required value",
			"spec.capacity: Required value", `spec.capacity: Unsupported value: null: supported values: "storage"`,
			"spec: Required value: must specify a volume type"}},
		{name: "access modes", body: `{"spec":{"accessModes":["ReadWriteOncePod","Odd","ReadOnlyMany"],` +
			`"capacity":{"storage":"1"},` + onNFS + `}}`, want: []string{
			`spec.accessModes: Unsupported value: "Odd": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"`,
			"spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes"}},
		{name: "one pod", body: `{"spec":{"accessModes":["ReadWriteOncePod"],"capacity":{"storage":"1"},` + onNFS + `}}`},
		{name: "a capacity of something else", body: `{"spec":{"accessModes":["ReadWriteOnce"],` +
			`"capacity":{"cpu":"1","storage":"0","x":"-1"},` + onNFS + `}}`, want: []string{
			`spec.capacity: Unsupported value: {"cpu":"1","storage":"0","x":"-1"}: supported values: "storage"`,
			`spec.capacity[storage]: Invalid value: "0": must be greater than zero`,
			`spec.capacity[x]: Invalid value: -1: must be a valid resource quantity`,
			`spec.capacity[x]: Invalid value: "-1": must be greater than zero`}},
		{name: "an unknown policy", body: volumeOf(onNFS, `"persistentVolumeReclaimPolicy":"Keep"`), want: []string{
			`spec.persistentVolumeReclaimPolicy: Unsupported value: "Keep": supported values: "Delete", "Recycle", "Retain"`}},
		{name: "a root that is recycled", body: volumeOf(`"hostPath":{"path":"/./"}`,
			`"persistentVolumeReclaimPolicy":"Recycle"`), want: []string{
			"spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'"}},
		{name: "a class that is no name", body: volumeOf(onNFS, `"storageClassName":"A"`), want: []string{
			`spec.storageClassName: Invalid value: "A": ` + subdomain}},
		{name: "an unknown mode", body: volumeOf(onNFS, `"volumeMode":"Tape"`), want: []string{
			`spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"`}},
		{name: "attributes of a driver", body: volumeOf(onDriver, `"volumeAttributesClassName":"gold"`)},
		{name: "attributes without a driver", body: volumeOf(onNFS, `"volumeAttributesClassName":""`), want: []string{
			"spec.volumeAttributesClassName: Required value: an empty string is disallowed",
			"spec.csi: Required value: has to be specified when using volumeAttributesClassName"}},
		{name: "attributes that are no name", body: volumeOf(onDriver, `"volumeAttributesClassName":"A"`), want: []string{
			`spec.volumeAttributesClassName: Invalid value: "A": ` + subdomain}},
		{name: "a finalizer without a domain", body: `{"metadata":{"finalizers":["mine"]},` + volumeOf(onNFS)[1:],
			want: []string{`metadata.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified`}},
		{name: "mount options", body: `{"metadata":{"annotations":{"volume.beta.kubernetes.io/mount-options":"ro"}},` +
			volumeOf(onNFS)[1:]},
		{name: "mount options of a driver", body: `{"metadata":{"annotations":{"volume.beta.kubernetes.io/mount-options":"ro"}},` +
			volumeOf(onDriver)[1:], want: []string{
			"metadata.annotations.volume.beta.kubernetes.io/mount-options: Forbidden: may not specify mount options for this volume type"}},
	})
}

// TestVolumeAffinityRules checks the rules of validateVolumeNodeAffinity and validatePvNodeAffinity.
func TestVolumeAffinityRules(t *testing.T) {
	t.Parallel()
	const (
		at      = "spec.nodeAffinity.required.nodeSelectorTerms"
		changed = ": field is immutable, except for updating from beta label to GA"
		beta    = "failure-domain.beta.kubernetes.io/zone"
		stable  = "topology.kubernetes.io/zone"
	)
	spaced := at + `[0].matchExpressions[0].values[0]: Invalid value: "a b": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`
	immutable := func(key, value string) string {
		return `nodeAffinity: Invalid value: {"Required":{"NodeSelectorTerms":[{"MatchExpressions":[{"Key":"` + key +
			`","Operator":"In","Values":["` + value + `"]}],"MatchFields":null}]}}` + changed
	}
	check(t, "persistentvolumes", []rule{
		{name: "a zone", body: volumeOf(onNFS, affinity("zone", "a"))},
		{name: "no constraints", body: volumeOf(onNFS, `"nodeAffinity":{}`), want: []string{
			"spec.nodeAffinity.required: Required value: must specify required node constraints"}},
		{name: "no terms", body: volumeOf(onNFS, `"nodeAffinity":{"required":{"nodeSelectorTerms":[]}}`), want: []string{
			at + ": Required value: must have at least one node selector term"}},
		{name: "wrong requirements", body: volumeOf(onNFS, `"nodeAffinity":{"required":{"nodeSelectorTerms":[`+
			`{"matchExpressions":[{"key":"zone","operator":"Is"}],"matchFields":[{"key":"b","operator":"In","values":["x"]}]}]}}`),
			want: []string{
				at + `[0].matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator`,
				at + `[0].matchFields[0].key: Invalid value: "b": not a valid field selector key`}},
		{name: "a value that is no label", body: volumeOf(onNFS, affinity("zone", "a b")), want: []string{spaced}},
		{name: "a value that an old volume has", old: volumeOf(onNFS, affinity("zone", "a b")),
			body: volumeOf(onNFS, affinity("zone", "a b"))},
		{name: "a value that an old volume has not", old: volumeOf(onNFS), body: volumeOf(onNFS, affinity("zone", "a b")),
			want: []string{spaced}},
		{name: "a volume gets an affinity", old: volumeOf(onNFS), body: volumeOf(onNFS, affinity("zone", "a"))},
		{name: "a volume loses it", old: volumeOf(onNFS, affinity("zone", "a")), body: volumeOf(onNFS), want: []string{
			"nodeAffinity: Invalid value: null" + changed}},
		{name: "another value", old: volumeOf(onNFS, affinity("zone", "a")), body: volumeOf(onNFS, affinity("zone", "b")),
			want: []string{immutable("zone", "b")}},
		{name: "no label is not reported as another", old: volumeOf(onNFS, affinity("zone", "a")),
			body: volumeOf(onNFS, affinity("", "a")), want: []string{
				at + `[0].matchExpressions[0].key: Invalid value: "": name part must be non-empty`,
				at + `[0].matchExpressions[0].key: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`}},
		{name: "a stable label", old: volumeOf(onNFS, affinity(beta, "a")), body: volumeOf(onNFS, affinity(stable, "a"))},
		{name: "a beta label", old: volumeOf(onNFS, affinity(stable, "a")), body: volumeOf(onNFS, affinity(beta, "a")),
			want: []string{immutable(beta, "a")}},
		{name: "a stable label with another value", old: volumeOf(onNFS, affinity(beta, "a")),
			body: volumeOf(onNFS, affinity(stable, "b")), want: []string{immutable(stable, "b")}},
	})
}

// TestPersistentVolumeUpdateRules checks the rules of ValidatePersistentVolumeUpdate.
func TestPersistentVolumeUpdateRules(t *testing.T) {
	t.Parallel()
	const (
		withSecret = `"csi":{"driver":"csi.example.com","volumeHandle":"h","controllerExpandSecretRef":{"name":"n","namespace":"ns"}}`
		attributes = `"volumeAttributesClassName":"gold"`
	)
	changed := func(diff string) string {
		return "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n" + diff
	}
	check(t, "persistentvolumes", []rule{
		{name: "no change", old: volumeOf(onNFS), body: volumeOf(onNFS)},
		{name: "mutable fields", old: volumeOf(onNFS), body: `{"spec":{"accessModes":["ReadOnlyMany"],` +
			`"capacity":{"storage":"2Gi"},"claimRef":{"name":"c"},"persistentVolumeReclaimPolicy":"Delete",` +
			`"storageClassName":"c","mountOptions":["ro"],` + onNFS + `}}`},
		{name: "another mode", old: volumeOf(onNFS), body: volumeOf(onNFS, `"volumeMode":"Tape"`), want: []string{
			`spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"`,
			`volumeMode: Invalid value: "Tape": field is immutable`}},
		{name: "another source", old: volumeOf(`"nfs":{"server":"s","path":"/b"}`), body: volumeOf(onNFS), want: []string{changed(
			"@@ -5,7 +5,7 @@\n  \"Glusterfs\": null,\n  \"NFS\": {\n   \"Server\": \"s\",\n-  \"Path\": \"/b\",\n+  \"Path\": \"/a\",\n   \"ReadOnly\": false\n  },\n  \"RBD\": null,\n")}},
		{name: "a secret for the expansion", old: volumeOf(onDriver), body: volumeOf(withSecret)},
		{name: "without that secret", old: volumeOf(withSecret), body: volumeOf(onDriver), want: []string{changed(
			"@@ -29,10 +29,7 @@\n   \"ControllerPublishSecretRef\": null,\n   \"NodeStageSecretRef\": null,\n   \"NodePublishSecretRef\": null,\n" +
				"-  \"ControllerExpandSecretRef\": {\n-   \"Name\": \"n\",\n-   \"Namespace\": \"ns\"\n-  },\n" +
				"+  \"ControllerExpandSecretRef\": null,\n   \"NodeExpandSecretRef\": null\n  }\n }\n")}},
		{name: "a large source", old: volumeOf(onNFS), body: volumeOf(`"nfs":{"server":"s","path":"/` +
			strings.Repeat("a", maxDiffed) + `"}`), want: []string{changed("")}},
		{name: "attributes", old: volumeOf(onDriver), body: volumeOf(onDriver, attributes)},
		{name: "without attributes", old: volumeOf(onDriver, attributes), body: volumeOf(onDriver), want: []string{
			"spec.volumeAttributesClassName: Forbidden: update from non-nil value to nil is forbidden"}},
		{name: "a status", old: volumeOf(onNFS), sub: "status", body: `{"status":{"phase":"Bound"}}`},
	})
}

func TestPersistentVolumeDefaults(t *testing.T) {
	t.Parallel()
	k := persistentVolumeKind(object.NewCache(1))
	spec := func(fields string) corev1.PersistentVolumeSpec {
		return read(t, k, "", `{"spec":{`+fields+`}}`).(*corev1.PersistentVolume).Spec
	}
	plain := read(t, k, "", `{"spec":{"capacity":{"storage":"0.0001"}}}`).(*corev1.PersistentVolume)
	if plain.Status.Phase != corev1.VolumePending || *plain.Spec.VolumeMode != corev1.PersistentVolumeFilesystem ||
		plain.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRetain ||
		plain.Spec.Capacity.Storage().String() != "1m" {
		t.Errorf("defaults: %+v", plain)
	}
	for _, c := range []struct{ sent, want any }{
		{*spec(`"hostPath":{"path":"/a"}`).HostPath.Type, corev1.HostPathUnset},
		{*spec(`"hostPath":{"path":"/a","type":"File"}`).HostPath.Type, corev1.HostPathFile},
		{*spec(`"rbd":{"user":"me"}`).RBD, corev1.RBDPersistentVolumeSource{RBDPool: "rbd", RadosUser: "me",
			Keyring: "/etc/ceph/keyring"}},
		{*spec(`"rbd":{}`).RBD, corev1.RBDPersistentVolumeSource{RBDPool: "rbd", RadosUser: "admin",
			Keyring: "/etc/ceph/keyring"}},
		{spec(`"iscsi":{}`).ISCSI.ISCSIInterface, "default"},
		{*spec(`"scaleIO":{}`).ScaleIO, corev1.ScaleIOPersistentVolumeSource{StorageMode: "ThinProvisioned",
			FSType: "xfs"}},
		{*spec(`"azureDisk":{"readOnly":true}`).AzureDisk, corev1.AzureDiskVolumeSource{
			CachingMode: new(corev1.AzureDataDiskCachingReadWrite), Kind: new(corev1.AzureSharedBlobDisk),
			FSType: new("ext4"), ReadOnly: new(true)}},
	} {
		if diff := cmp.Diff(c.want, c.sent); diff != "" {
			t.Errorf("defaults (-want +got):\n%s", diff)
		}
	}
}

func TestNewVolumeIsPending(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := persistentVolumeKind(object.NewCache(1))
		v := read(t, k, "", `{"status":{"phase":"Bound","message":"m"}}`).(*corev1.PersistentVolume)
		k.Prepare(v, nil, "")
		now := metav1.Now()
		want := corev1.PersistentVolumeStatus{Phase: corev1.VolumePending, LastPhaseTransitionTime: &now}
		if diff := cmp.Diff(want, v.Status); diff != "" {
			t.Errorf("status (-want +got):\n%s", diff)
		}
		if v.Generation != 0 {
			t.Errorf("the generation of a new volume is %d", v.Generation)
		}
		next := read(t, k, "", `{"status":{"phase":"Bound"}}`).(*corev1.PersistentVolume)
		k.Prepare(next, v, "")
		if diff := cmp.Diff(want, next.Status); diff != "" {
			t.Errorf("an update changes the status (-want +got):\n%s", diff)
		}
	})
}

// TestPhaseTransitionTime checks PrepareForUpdate of persistentvolumeStatusStrategy.
func TestPhaseTransitionTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		before, now := metav1.NewTime(time.Now().Add(-time.Hour)), metav1.Now()
		sent := metav1.NewTime(now.Add(time.Hour))
		for _, c := range []struct {
			phase      corev1.PersistentVolumePhase
			sent, want *metav1.Time
		}{
			{corev1.VolumeBound, nil, &before},
			{corev1.VolumeBound, &before, &before},
			{corev1.VolumeBound, &sent, &sent},
			{corev1.VolumeReleased, nil, &now},
			{corev1.VolumeReleased, &before, &now},
			{corev1.VolumeReleased, &sent, &sent},
		} {
			old := &corev1.PersistentVolume{}
			old.Status.Phase, old.Status.LastPhaseTransitionTime = corev1.VolumeBound, &before
			v := &corev1.PersistentVolume{}
			v.Status.Phase, v.Status.LastPhaseTransitionTime = c.phase, c.sent
			persistentVolumeKind(object.NewCache(1)).Prepare(v, old, "status")
			if got := v.Status.LastPhaseTransitionTime; !got.Equal(c.want) {
				t.Errorf("to %s with %v: %v, want %v", c.phase, c.sent, got, c.want)
			}
		}
	})
}

func TestPersistentVolumeRows(t *testing.T) {
	t.Parallel()
	k := persistentVolumeKind(object.NewCache(1))
	now := time.Now()
	for body, want := range map[string][]any{
		volumeOf(onNFS): {"x", "1Gi", "RWO", "Retain", "Pending", "", "", "<unset>", "", "3m", "Filesystem"},
		`{"metadata":{"annotations":{"volume.beta.kubernetes.io/storage-class":"slow"},"deletionTimestamp":"2026-01-01T00:00:00Z"},` +
			`"spec":{"accessModes":["ReadWriteMany","ReadOnlyMany"],"claimRef":{"namespace":"n","name":"c"},"storageClassName":"s",` +
			`"volumeAttributesClassName":"gold","volumeMode":"Block"},"status":{"phase":"Bound","reason":"r"}}`: {
			"x", "0", "ROX,RWX", "Retain", "Terminating", "n/c", "slow", "gold", "r", "3m", "Block"},
	} {
		v := read(t, k, "", body)
		v.SetCreationTimestamp(metav1.NewTime(now.Add(-3 * time.Minute)))
		row, err := k.Row(v, "v1", now)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, row); diff != "" {
			t.Errorf("the row of %s (-want +got):\n%s", body, diff)
		}
	}
}

func TestPersistentVolumeWarnings(t *testing.T) {
	t.Parallel()
	k := persistentVolumeKind(object.NewCache(1))
	for body, want := range map[string][]string{
		volumeOf(onNFS, affinity("zone", "a")): nil,
		`{"metadata":{"annotations":{"volume.beta.kubernetes.io/storage-class":"a","volume.beta.kubernetes.io/mount-options":"ro"}}}`: {
			`metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "storageClassName" attribute instead`,
			`metadata.annotations[volume.beta.kubernetes.io/mount-options]: deprecated since v1.31; use "mountOptions" attribute instead`},
		volumeOf(`"persistentVolumeReclaimPolicy":"Recycle"`, affinity("node-role.kubernetes.io/master", "")): {
			"spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.",
			`spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: node-role.kubernetes.io/master is use "node-role.kubernetes.io/control-plane" instead`},
		volumeOf(`"cephfs":{},"photonPersistentDisk":{},"scaleIO":{},"storageos":{},"glusterfs":{},"rbd":{}`): {
			"spec.cephfs: deprecated in v1.28, non-functional in v1.31+",
			"spec.photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+",
			"spec.scaleIO: deprecated in v1.16, non-functional in v1.22+",
			"spec.storageOS: deprecated in v1.22, non-functional in v1.25+",
			"spec.glusterfs: deprecated in v1.25, non-functional in v1.26+",
			"spec.rbd: deprecated in v1.28, non-functional in v1.31+"},
	} {
		v := read(t, k, "", body)
		if diff := cmp.Diff(want, k.Warnings(v, nil, "")); diff != "" {
			t.Errorf("the warnings of %s (-want +got):\n%s", body, diff)
		}
		if got := k.Warnings(v, v, "status"); len(got) > 0 {
			t.Errorf("a write of the status warns: %q", got)
		}
	}
}

// TestManyAccessModesAreBounded checks the number of errors of a large object, and an object without defaults.
func TestManyAccessModesAreBounded(t *testing.T) {
	t.Parallel()
	k := persistentVolumeKind(object.NewCache(1))
	v := &corev1.PersistentVolume{}
	k.Validate(t.Context(), v, v, "")
	v.Spec.AccessModes = make([]corev1.PersistentVolumeAccessMode, 100_000)
	if n := len(k.Validate(t.Context(), v, v, "")); n < maxVolumeErrors || n > 3*maxVolumeErrors {
		t.Errorf("%d errors", n)
	}
}

package apps

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/bowline-dev/bowline/internal/object"
)

func TestStatefulSetRules(t *testing.T) {
	t.Parallel()
	const claim = `{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`
	checkRules(t, statefulSetKind(object.NewCache(1<<20)), "", []rule{
		{"the least that it needs", "", ``, `{}`, ``},
		{"a selector is there", "ValidateStatefulSetSpec", ``, `spec: {selector: null}`,
			"[spec.selector: Required value, spec.template.metadata.labels: Invalid value: {\"app\":\"a\"}: `selector` does not match template `labels`]"},
		{"a selector says something", "ValidateStatefulSetSpec", ``, `spec: {selector: {matchLabels: null}}`,
			`spec.selector: Invalid value: {}: empty selector is invalid for statefulset`},
		{"an order is known", "ValidateStatefulSetSpec", ``, `spec: {podManagementPolicy: Random}`,
			`spec.podManagementPolicy: Invalid value: "Random": must be 'OrderedReady' or 'Parallel'`},
		{"a strategy is known", "ValidateStatefulSetSpec", ``,
			`spec: {updateStrategy: {type: Recreate, rollingUpdate: {partition: 2}}}`,
			`spec.updateStrategy: Invalid value: {"Type":"Recreate","RollingUpdate":{"Partition":2,"MaxUnavailable":null}}: ` +
				`must be 'RollingUpdate' or 'OnDelete'`},
		{"who waits for deletes does not roll", "ValidateStatefulSetSpec", ``,
			`spec: {updateStrategy: {type: OnDelete, rollingUpdate: {partition: 2}}}`,
			`spec.updateStrategy.rollingUpdate: Invalid value: {"Partition":2,"MaxUnavailable":null}: only allowed for updateStrategy 'RollingUpdate'`},
		{"a partition is an ordinal", "validateRollingUpdateStatefulSet", ``,
			`spec: {updateStrategy: {rollingUpdate: {partition: -1}}}`,
			`spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0`},
		{"some pods may be unavailable", "validateRollingUpdateStatefulSet", ``,
			`spec: {updateStrategy: {rollingUpdate: {maxUnavailable: 3}}}`, ``},
		{"a share of the pods may be unavailable", "validateRollingUpdateStatefulSet", ``,
			`spec: {updateStrategy: {rollingUpdate: {maxUnavailable: 100%}}}`, ``},
		{"not no pod", "validateRollingUpdateStatefulSet", ``,
			`spec: {updateStrategy: {rollingUpdate: {maxUnavailable: 0%}}}`,
			`spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "0%": cannot be 0`},
		{"not fewer than none", "validateRollingUpdateStatefulSet", ``,
			`spec: {updateStrategy: {rollingUpdate: {maxUnavailable: -1}}}`,
			`spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: -1: must be greater than or equal to 0`},
		{"not more than all", "validateRollingUpdateStatefulSet", ``,
			`spec: {updateStrategy: {rollingUpdate: {maxUnavailable: 99999999999999999999%}}}`,
			`spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "99999999999999999999%": must not be greater than 100%`},
		{"a number is not a percentage", "validateRollingUpdateStatefulSet", ``,
			`spec: {updateStrategy: {rollingUpdate: {maxUnavailable: "200"}}}`,
			`spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "200": a valid percent string must be a numeric string ` +
				`followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')`},
		{"a strategy is shown with its share", "ValidateStatefulSetSpec", ``,
			`spec: {updateStrategy: {type: OnDelete, rollingUpdate: {maxUnavailable: 2}}}`,
			`spec.updateStrategy.rollingUpdate: Invalid value: {"Partition":0,"MaxUnavailable":2}: only allowed for updateStrategy 'RollingUpdate'`},
		{"claims are kept or deleted", "ValidatePersistentVolumeClaimRetentionPolicyType", ``,
			`spec: {persistentVolumeClaimRetentionPolicy: {whenScaled: Sell}}`,
			`spec.persistentVolumeClaimRetentionPolicy.whenScaled: Unsupported value: "Sell": supported values: "Retain", "Delete"`},
		{"a claim is valid", "validateVolumeClaimTemplates", ``,
			`spec: {volumeClaimTemplates: [{metadata: {name: data}}]}`,
			`[spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required, ` +
				`spec.volumeClaimTemplates[0].spec.resources[storage]: Required value]`},
		{"a claim is a volume of each pod", "volumesToAddForTemplates", ``,
			`spec: {volumeClaimTemplates: [` + claim + `], 
			template: {spec: {containers: [{name: c, image: i, volumeMounts: [{name: data, mountPath: /d}]}]}}}`, ``},
		{"a volume is there", "ValidatePodTemplateSpec", ``,
			`spec: {template: {spec: {containers: [{name: c, image: i, volumeMounts: [{name: data, mountPath: /d}]}]}}}`,
			`spec.template.spec.containers[0].volumeMounts[0].name: Not found: "data"`},
		{"the set gives the host names", "ValidateStatefulSetSpec", ``,
			`spec: {template: {spec: {hostname: "not one", subdomain: "nor this"}}}`, ``},
		{"a first ordinal is one", "ValidateStatefulSetSpec", ``, `spec: {ordinals: {start: -1}}`,
			`spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0`},
		{"a service has a name", "ValidateStatefulSetSpec", ``, `spec: {serviceName: A.b}`,
			`spec.serviceName: Invalid value: "A.b": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', ` +
				`and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`},
		{"pods run on and on", "ValidateStatefulSetSpec", ``,
			`spec: {template: {spec: {restartPolicy: Never, activeDeadlineSeconds: 1}}}`,
			`[spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always", ` +
				`spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in StatefulSet is not Supported]`},
		{"a selector stays", "ValidateStatefulSetUpdate", `{}`,
			`spec: {selector: {matchLabels: {app: a, b: c}}, template: {metadata: {labels: {app: a, b: c}}}}`,
			`spec.selector: Invalid value: {"matchLabels":{"app":"a","b":"c"}}: field is immutable`},
		{"claims stay", "ValidateStatefulSetUpdate", `{}`, `spec: {volumeClaimTemplates: [` + claim + `]}`,
			`spec.volumeClaimTemplates: Invalid value: [{"name":"data","Spec":{"AccessModes":["ReadWriteOnce"],"Selector":null,` +
				`"Resources":{"Limits":null,"Requests":{"storage":"1Gi"}},"VolumeName":"","StorageClassName":null,"VolumeMode":` +
				`"Filesystem","DataSource":null,"DataSourceRef":null,"VolumeAttributesClassName":null},"Status":{"Phase":"Pending",` +
				`"AccessModes":null,"Capacity":null,"Conditions":null,"AllocatedResources":null,"AllocatedResourceStatuses":null,` +
				`"CurrentVolumeAttributesClassName":null,"ModifyVolumeStatus":null,"HealthStatus":null}}]: field is immutable`},
		{"a service stays", "ValidateStatefulSetUpdate", `{}`, `spec: {serviceName: other}`,
			`spec.serviceName: Invalid value: "other": field is immutable`},
		{"the order of the pods stays", "ValidateStatefulSetUpdate", `{}`, `spec: {podManagementPolicy: Parallel}`,
			`spec.podManagementPolicy: Invalid value: "Parallel": field is immutable`},
		{"what may change", "ValidateStatefulSetUpdate", `{}`,
			`spec: {replicas: 3, minReadySeconds: 2, ordinals: {start: 1}, revisionHistoryLimit: 3, 
			updateStrategy: {type: OnDelete, rollingUpdate: null}, persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete},
			template: {spec: {containers: [{name: d, image: j}]}}}`, ``},
		{"an update is checked", "ValidateStatefulSetUpdate", `{}`, `spec: {replicas: -1}`,
			`spec.replicas: Invalid value: -1: must be greater than or equal to 0`},
		{"what was wrong before may be scaled", "ValidateStatefulSetUpdate",
			`spec: {template: {spec: {containers: [{name: NO, image: i}]}}}`, `spec: {replicas: 0}`, ``},
		{"what was right stays right", "ValidateStatefulSetUpdate", `{}`,
			`spec: {template: {spec: {containers: [{name: c, image: ""}]}}}`,
			`spec.template.spec.containers[0].image: Required value`},
	})
	checkRules(t, statefulSetKind(object.NewCache(1<<20)), "status", []rule{
		{"who is current is there", "ValidateStatefulSetStatus", ``, `status: {replicas: 1, currentReplicas: 2}`,
			`status.currentReplicas: Invalid value: 2: cannot be greater than status.replicas`},
		{"who is available is ready", "ValidateStatefulSetStatus", ``,
			`status: {replicas: 2, readyReplicas: 1, availableReplicas: 2}`,
			`status.availableReplicas: Invalid value: 2: cannot be greater than status.readyReplicas`},
		{"collisions are counted up", "ValidateStatefulSetStatusUpdate", `status: {collisionCount: 2}`,
			`status: {collisionCount: null}`,
			`status.collisionCount: Invalid value: 0: cannot be decremented`},
		{"a right status", "", ``,
			`status: {replicas: 2, readyReplicas: 2, currentReplicas: 2, updatedReplicas: 1, availableReplicas: 1}`,
			``},
	})
}

func TestStatefulSetNamesAreHostNames(t *testing.T) {
	t.Parallel()
	valid := statefulSetKind(object.NewCache(1 << 20)).Info().ValidName
	if got := valid("web.example", false); len(got) == 0 {
		t.Error("a statefulset may be named web.example, whose pods' host names cannot begin so")
	}
	if got := valid("web-", true); len(got) > 0 {
		t.Errorf("the prefix web- is rejected: %q", got)
	}
}

func TestStatefulSetDefaults(t *testing.T) {
	t.Parallel()
	k := statefulSetKind(object.NewCache(1 << 20))
	for _, c := range []struct{ strategy, want string }{
		{`{}`, "RollingUpdate from 0, 1 unavailable"},
		{`{type: RollingUpdate}`, "RollingUpdate"},
		{`{type: RollingUpdate, rollingUpdate: {partition: 3}}`, "RollingUpdate from 3, 1 unavailable"},
		{`{type: RollingUpdate, rollingUpdate: {maxUnavailable: 25%}}`, "RollingUpdate from 0, 25% unavailable"},
		{`{type: OnDelete}`, "OnDelete"},
	} {
		s := created(t, k, `spec: {updateStrategy: `+c.strategy+`}`).(*appsv1.StatefulSet).Spec.UpdateStrategy
		got := string(s.Type)
		if r := s.RollingUpdate; r != nil {
			got = fmt.Sprintf("%s from %d, %s unavailable", s.Type, *r.Partition, r.MaxUnavailable)
		}
		if got != c.want {
			t.Errorf("strategy %s: %s, want %s", c.strategy, got, c.want)
		}
	}
}

// Protobuf does not encode the kind of claim templates. Without restoring it, an update of the replicas would
// be rejected as a change of immutable fields.
func TestClaimTemplatesHaveKindInAllFormats(t *testing.T) {
	t.Parallel()
	k := statefulSetKind(object.NewCache(1 << 20))
	set := created(t, k,
		`spec: {volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce]}}]}`)
	for _, format := range []object.Format{object.JSON, object.Protobuf} {
		form := object.Form{APIVersion: "apps/v1", Format: format}
		data, err := k.Encode(form, set)
		if err != nil {
			t.Fatal(err)
		}
		got, err := k.Decode(form, data)
		if err != nil {
			t.Fatal(err)
		}
		if claim := got.(*appsv1.StatefulSet).Spec.VolumeClaimTemplates[0]; claim.Kind != "PersistentVolumeClaim" ||
			claim.APIVersion != "v1" {
			t.Errorf("stored in form %v, the claim is of %s %q", form, claim.APIVersion, claim.Kind)
		}
	}
}

func TestStatefulSetWarnings(t *testing.T) {
	t.Parallel()
	k := statefulSetKind(object.NewCache(1 << 20))
	obj := created(t, k, `spec: {revisionHistoryLimit: -1, template: {spec: {terminationGracePeriodSeconds: -1}},
		volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1500m}}}}]}`)
	history := `spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended`
	want := []string{
		`spec.template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`,
		`spec.volumeClaimTemplates[0].resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer`,
		history,
	}
	if got := k.Warnings(obj, nil, ""); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("warnings of the create %q, want %q", got, want)
	}
	want = []string{`spec.volumeClaimTemplates[0].Spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer`, history}
	if got := k.Warnings(obj, obj, ""); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("warnings of an update that leaves the template %q, want %q", got, want)
	}
}

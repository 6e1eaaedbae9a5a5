package storage

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/bowline-dev/bowline/internal/object"
)

const (
	subdomain = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
	caseless  = "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'Example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)

func attachment(attacher, node, source string) string {
	return `{"spec":{"attacher":"` + attacher + `","nodeName":"` + node + `","source":{` + source + `}}}`
}

var attached = attachment("CSI.example.com", "n", `"persistentVolumeName":"v"`)

// TestAttachmentRules checks the rules of ValidateVolumeAttachment and Validate_VolumeAttachment.
func TestAttachmentRules(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 64)
	const one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
	check(t, attachmentKind(object.NewCache(1)), []rule{
		{name: "a volume", body: attached},
		{name: "nothing", body: `{}`, want: []string{"spec.source: Required value: " + one,
			`spec.nodeName: Invalid value: "": ` + subdomain, "spec.attacher: Required value"}},
		{name: "no driver name", body: attachment("a_b", "n", `"persistentVolumeName":"v"`), want: []string{
			`spec.attacher: Invalid value: "a_b": ` + caseless}},
		{name: "a long driver name", body: attachment(long, "n", `"persistentVolumeName":"v"`), want: []string{
			"spec.attacher: Too long: may not be more than 63 characters"}},
		{name: "two sources", body: attachment("a", "n", `"persistentVolumeName":"v","inlineVolumeSpec":{}`),
			want: []string{"spec.source: Forbidden: " + one}},
		{name: "an empty volume name", body: attachment("a", "n", `"persistentVolumeName":""`), want: []string{
			"spec.source.persistentVolumeName: Required value: must specify non empty persistentVolumeName",
			`spec.source.persistentVolumeName: Invalid value: "": ` + subdomain}},
		{name: "an inline volume", body: attachment("a", "n",
			`"inlineVolumeSpec":{"accessModes":["ReadWriteOnce"],"csi":{"driver":"d","volumeHandle":"h"}}`)},
		{name: "an inline volume with the fields of others", body: attachment("a", "n",
			`"inlineVolumeSpec":{"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/a"},"claimRef":{},"capacity":{"storage":"1"},`+
				`"persistentVolumeReclaimPolicy":"Delete","nodeAffinity":{},"storageClassName":"c","volumeMode":"Block"}`),
			want: []string{
				"spec.source.inlineVolumeSpec.claimRef: Forbidden: may not be specified in the context of inline volumes",
				"spec.source.inlineVolumeSpec.capacity: Forbidden: may not be specified in the context of inline volumes",
				"spec.source.inlineVolumeSpec.csi: Required value: has to be specified in the context of inline volumes",
				"spec.source.inlineVolumeSpec.persistentVolumeReclaimPolicy: Forbidden: may only be Retain in the context of inline volumes",
				"spec.source.inlineVolumeSpec.nodeAffinity: Forbidden: may not be specified in the context of inline volumes",
				"spec.source.inlineVolumeSpec.storageClassName: Forbidden: may not be specified in the context of inline volumes",
				"spec.source.inlineVolumeSpec.volumeMode: Forbidden: may not specify volumeMode other than Filesystem in the context of inline volumes"}},
	})
}

// TestAttachmentUpdateRules checks the rules of ValidateVolumeAttachmentUpdate, which apply to the status too.
func TestAttachmentUpdateRules(t *testing.T) {
	t.Parallel()
	status := func(fields string) string { return overlay(t, attached, `{"status":{`+fields+`}}`) }
	check(t, attachmentKind(object.NewCache(1)), []rule{
		{name: "no change", body: attached, old: attached},
		{name: "another node", body: attachment("CSI.example.com", "m", `"persistentVolumeName":"v"`), old: attached,
			want: []string{"spec: Invalid value: null: field is immutable"}},
		{name: "another attacher", old: attached, body: attachment(strings.Repeat("A_", 32), "n",
			`"persistentVolumeName":"v"`),
			want: []string{"spec.attacher: Too long: may not be more than 63 bytes",
				`spec.attacher: Invalid value: "` + strings.Repeat("A_", 32) + `": ` + subdomain,
				"spec: Invalid value: null: field is immutable"}},
		{name: "a status", old: attached, sub: "status",
			body: status(`"attached":true,"attachmentMetadata":{"a":"b"},"attachError":{"message":"x","errorCode":0}`)},
		{name: "a long status", old: attached, sub: "status",
			body: status(`"attached":false,"attachmentMetadata":{"a":"` + strings.Repeat("x", 256<<10) + `"},` +
				`"attachError":{"errorCode":-1},"detachError":{"message":"` + strings.Repeat("x", 1025) + `"}`),
			want: []string{"status.attachmentMetadata: Too long: may not be more than 262144 bytes",
				"status.attachError.errorCode: Invalid value: -1: must be between 0 and 2147483647, inclusive",
				"status.detachError.message: Too long: may not be more than 1024 bytes"}},
	})
}

// TestAttachmentPrepare checks what a write can change.
func TestAttachmentPrepare(t *testing.T) {
	t.Parallel()
	k := attachmentKind(object.NewCache(1))
	const withStatus = `{"metadata":{"labels":{"a":"new"},"annotations":{"a":"new"},"finalizers":["example.com/new"]},` +
		`"spec":{"attacher":"new"},"status":{"attached":true}}`
	old := read(t, k, `{"metadata":{"labels":{"a":"old"},"annotations":{"a":"old"},"finalizers":["example.com/old"]},`+
		`"spec":{"attacher":"old"},"status":{"attached":false}}`).(*storagev1.VolumeAttachment)
	for sub, want := range map[string]struct {
		meta, attacher string
		attached       bool
	}{
		"create": {"new", "new", false}, "": {"new", "new", false}, "status": {"old", "old", true},
	} {
		a := read(t, k, withStatus).(*storagev1.VolumeAttachment)
		if sub == "create" {
			k.Prepare(a, nil, "")
		} else {
			k.Prepare(a, old, sub)
		}
		got := []any{a.Labels["a"], a.Annotations["a"], a.Finalizers[0], a.Spec.Attacher, a.Status.Attached}
		if diff := cmp.Diff([]any{want.meta, want.meta, "example.com/" + want.meta, want.attacher, want.attached},
			got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", sub, diff)
		}
		if a.Generation != 0 {
			t.Errorf("%q: the generation is %d", sub, a.Generation)
		}
	}
}

func TestAttachmentDefaultsAndRows(t *testing.T) {
	t.Parallel()
	k := attachmentKind(object.NewCache(1))
	a := read(t, k, attachment("a", "n", `"inlineVolumeSpec":{"hostPath":{"path":"/a"}}`)).(*storagev1.VolumeAttachment)
	inline := a.Spec.Source.InlineVolumeSpec
	if inline.HostPath.Type == nil || inline.VolumeMode != nil || inline.PersistentVolumeReclaimPolicy != "" {
		t.Errorf("defaults of an inline volume: %+v", inline)
	}
	checkRow(t, k, attached, "CSI.example.com", "v", "n", false)
	checkRow(t, k, `{"spec":{"attacher":"a","nodeName":"n"},"status":{"attached":true}}`, "a", "", "n", true)
}

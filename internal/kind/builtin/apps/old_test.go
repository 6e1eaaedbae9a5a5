package apps

import (
	"encoding/json"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

const oldTemplate = `"template":{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"name":"c","image":"i"}]}}`

// TestOldVersionsHaveTheirDefaults checks each version's defaults for a manifest with only a template.
func TestOldVersionsHaveTheirDefaults(t *testing.T) {
	t.Parallel()
	cache := object.NewCache(1 << 20)
	const chosen = `"selector":{"matchLabels":{"app":"a"}},`
	for _, c := range []struct {
		kind                kind.Kind
		version, spec, want string // want is a part of the apps/v1 form; its fields must be equal
	}{
		{deploymentKind(cache), "extensions/v1beta1", oldTemplate,
			`{"metadata":{"labels":{"app":"a"}},"spec":{"selector":{"matchLabels":{"app":"a"}},
			"revisionHistoryLimit":2147483647,"progressDeadlineSeconds":2147483647,"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1,"maxUnavailable":1}}}}`},
		{deploymentKind(cache), "extensions/v1beta1", `"rollbackTo":{"revision":3},` + oldTemplate,
			`{"metadata":{"annotations":{"deprecated.deployment.rollback.to":"3"}}}`},
		{deploymentKind(cache), "apps/v1beta1", `"rollbackTo":{"revision":0},` + oldTemplate,
			`{"metadata":{"labels":{"app":"a"},
			"annotations":{"deprecated.deployment.rollback.to":"0"}},"spec":{"selector":{"matchLabels":{"app":"a"}},
			"revisionHistoryLimit":2,"progressDeadlineSeconds":600,"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":"25%","maxUnavailable":"25%"}}}}`},
		{deploymentKind(cache), "apps/v1beta2", chosen + oldTemplate,
			`{"spec":{"revisionHistoryLimit":10,"progressDeadlineSeconds":600}}`},
		{replicaSetKind(cache), "extensions/v1beta1", oldTemplate,
			`{"metadata":{"labels":{"app":"a"}},"spec":{"replicas":1,"selector":{"matchLabels":{"app":"a"}}}}`},
		{replicaSetKind(cache), "apps/v1beta2", chosen + oldTemplate, `{"spec":{"replicas":1}}`},
		{statefulSetKind(cache), "apps/v1beta1", oldTemplate,
			`{"metadata":{"labels":{"app":"a"}},"spec":{"selector":{"matchLabels":{"app":"a"}},
			"revisionHistoryLimit":10,"updateStrategy":{"type":"OnDelete"}}}`},
		{statefulSetKind(cache), "apps/v1beta2", chosen + oldTemplate,
			`{"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":0}}}}`},
		{daemonSetKind(cache), "extensions/v1beta1", `"templateGeneration":5,` + oldTemplate,
			`{"metadata":{"labels":{"app":"a"},
			"annotations":{"deprecated.daemonset.template.generation":"5"}},"spec":{"selector":{"matchLabels":{"app":"a"}},"updateStrategy":{"type":"OnDelete"}}}`},
		{daemonSetKind(cache), "apps/v1beta2", chosen + oldTemplate,
			`{"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":1,"maxSurge":0}}}}`},
	} {
		name := c.version + " " + c.kind.Info().Kind
		obj := inOldVersion(t, c.kind, c.version,
			`{"apiVersion":"`+c.version+`","kind":"`+c.kind.Info().Kind+`","metadata":{"name":"w"},"spec":{`+c.spec+
				`}}`)
		if errs := c.kind.Validate(t.Context(), obj, nil, ""); len(errs) > 0 {
			t.Errorf("%s: a valid object is rejected: %v", name, errs)
		}
		hub, err := c.kind.Encode(object.Form{APIVersion: "apps/v1", Format: object.JSON}, obj)
		if err != nil {
			t.Fatal(err)
		}
		laid, err := jsonpatch.MergePatch(hub, []byte(c.want))
		if err != nil {
			t.Fatal(err)
		}
		if !jsonpatch.Equal(laid, hub) {
			t.Errorf("%s: apps/v1 shows\n%s\nwant there\n%s", name, hub, c.want)
		}
		// Fields that apps/v1 represents as annotations are fields in the old version.
		old, err := c.kind.Encode(object.Form{APIVersion: c.version, Format: object.JSON}, obj)
		if err != nil {
			t.Fatal(err)
		}
		again := inOldVersion(t, c.kind, c.version, string(old))
		if back, err := c.kind.Encode(object.Form{APIVersion: "apps/v1", Format: object.JSON}, again); err != nil ||
			!jsonpatch.Equal(back, hub) {
			t.Errorf("%s: through the old version and back (%v):\n%s\nwas\n%s", name, err, back, hub)
		}
		if c.version != "apps/v1beta2" && strings.Contains(string(old), "deprecated.d") {
			t.Errorf("%s: the old version shows an annotation for what it has a field for: %s", name, old)
		}
	}
}

func inOldVersion(t *testing.T, k kind.Kind, version, body string) kind.Object {
	t.Helper()
	obj, strict, err := k.DecodeRequest(object.Form{APIVersion: version, Format: object.JSON}, []byte(body), false)
	if err != nil || len(strict) > 0 {
		t.Fatalf("%s: %v %q", body, err, strict)
	}
	return obj
}

func TestOldVersionsAreDeprecated(t *testing.T) {
	t.Parallel()
	for _, k := range Kinds(object.NewCache(1 << 20)) {
		if hub := k.Info().Endpoints[0]; hub.Deprecated != "" || hub.Orphans {
			t.Errorf("%s: apps/v1 is deprecated, or orphans by default: %+v", k.Info().Kind, hub)
		}
		for _, e := range k.Info().Endpoints[1:] {
			want := e.APIVersion() + " " + k.Info().Kind + " is deprecated in v1."
			if !strings.HasPrefix(e.Deprecated, want) ||
				!strings.HasSuffix(e.Deprecated, "unavailable in v1.16+; use apps/v1 "+k.Info().Kind) || !e.Orphans {
				t.Errorf("%s: an old version is not deprecated as in Kubernetes, or does not orphan by default: %+v",
					k.Info().Kind, e)
			}
		}
	}
}

func TestOldControllerRevisionsKeepTheirData(t *testing.T) {
	t.Parallel()
	k := controllerRevisionKind(object.NewCache(1 << 20))
	for _, version := range []string{"apps/v1beta1", "apps/v1beta2"} {
		obj := inOldVersion(t, k, version, `{"metadata":{"name":"r"},"revision":2,"data":{"a":"b"}}`)
		data, err := k.Encode(object.Form{APIVersion: version, Format: object.JSON}, obj)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			APIVersion, Kind string
			Revision         int
			Data             map[string]string
		}
		if err := json.Unmarshal(data, &got); err != nil || got.APIVersion != version ||
			got.Kind != "ControllerRevision" || got.Revision != 2 || got.Data["a"] != "b" {
			t.Errorf("%s shows %s (%v)", version, data, err)
		}
	}
}

package batch

import (
	"strings"
	"testing"

	deprecated "k8s.io/api/batch/v1beta1"
	"k8s.io/apiserver/pkg/endpoints/deprecation"

	"github.com/bowline-dev/bowline/internal/object"
)

// TestCronJobsInOldVersions checks the conversion between old versions of cronjobs and v1.
func TestCronJobsInOldVersions(t *testing.T) {
	t.Parallel()
	k := cronJobKind(object.NewCache(1 << 20))
	for _, version := range []string{"batch/v1beta1", "batch/v2alpha1"} {
		for _, format := range []object.Format{object.JSON, object.Protobuf} {
			form := object.Form{APIVersion: version, Format: object.JSON}
			body := `{"apiVersion":"` + version +
				`","kind":"CronJob","metadata":{"name":"c","namespace":"default"},"spec":{"schedule":"*/1 * * * *",
				"jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"OnFailure","containers":[{"name":"c","image":"i"}]}}}}}}`
			obj, strict, err := k.DecodeRequest(form, []byte(body), false)
			if err != nil || len(strict) > 0 {
				t.Fatalf("%s: %v %q", version, err, strict)
			}
			if errs := k.Validate(t.Context(), obj, nil, ""); len(errs) > 0 {
				t.Errorf("%s: a valid object is rejected: %v", version, errs)
			}
			form.Format = format
			data, err := k.Encode(form, obj)
			if err != nil {
				t.Fatal(err)
			}
			again, _, err := k.DecodeRequest(form, data, true)
			if err != nil {
				t.Fatal(err)
			}
			hub, err := k.Encode(object.Form{APIVersion: "batch/v1", Format: object.JSON}, again)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{`"apiVersion":"batch/v1"`, `"concurrencyPolicy":"Allow"`,
				`"successfulJobsHistoryLimit":3`, `"schedule":"*/1 * * * *"`} {
				if !strings.Contains(string(hub), want) {
					t.Errorf("%s: no %s in %s", version, want, hub)
				}
			}
		}
	}
}

func TestOldCronJobsAreDeprecated(t *testing.T) {
	t.Parallel()
	endpoints := cronJobKind(object.NewCache(1 << 20)).Info().Endpoints
	if hub := endpoints[0]; hub.Deprecated != "" || hub.Orphans {
		t.Errorf("batch/v1 is deprecated, or orphans by default: %+v", hub)
	}
	old := &deprecated.CronJob{}
	old.SetGroupVersionKind(deprecated.SchemeGroupVersion.WithKind("CronJob"))
	if want := deprecation.WarningMessage(old); endpoints[1].Deprecated != want || !endpoints[1].Orphans {
		t.Errorf("batch/v1beta1 is %+v, want the warning %q and orphaning", endpoints[1], want)
	}
	if oldest := endpoints[2]; !oldest.Orphans ||
		!strings.HasPrefix(oldest.Deprecated, "batch/v2alpha1 CronJob is deprecated") {
		t.Errorf("batch/v2alpha1 is %+v, want it deprecated and orphaning", oldest)
	}
}

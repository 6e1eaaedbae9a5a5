package apps

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/object"
)

func controllerRevisionKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "ControllerRevision", Plural: "controllerrevisions", Singular: "controllerrevision",
		Namespaced: true,
		Endpoints: append([]kind.Endpoint{{Group: "apps", Version: "v1"}},
			oldEndpoints(oldControllerRevisions(), "ControllerRevision", beta2, beta1)...),
	}, kind.Rules[*appsv1.ControllerRevision]{
		Versions: oldControllerRevisions(),
		Validate: fieldcheck.WithFinalizers(validateControllerRevision),
		Columns: []metav1.TableColumnDefinition{
			kind.NameColumn,
			{Name: "Controller", Type: "string", Description: "Controller of the object"},
			{Name: "Revision", Type: "string", Description: appsv1.ControllerRevision{}.SwaggerDoc()["revision"]},
			kind.AgeColumn,
		},
		Row: func(r *appsv1.ControllerRevision, now time.Time) []any {
			return []any{r.Name, controllerOf(r), r.Revision, kind.Age(r.CreationTimestamp.Time, now)}
		},
	})
}

// validateControllerRevision rejects changes of the data. The revision may change.
func validateControllerRevision(r, old *appsv1.ControllerRevision, _ string) field.ErrorList {
	errs, data := nonNegative(field.NewPath("revision"), r.Revision), field.NewPath("data")
	if old == nil {
		return append(errs, validateData(r.Data.Raw, data)...)
	}
	if bytes.Equal(compact(r.Data.Raw), compact(old.Data.Raw)) {
		return errs
	}
	return append(errs, field.Invalid(data, r.Data, apivalidation.FieldImmutableErrorMsg))
}

func validateData(raw []byte, path *field.Path) field.ErrorList {
	if raw == nil {
		return field.ErrorList{field.Required(path, "data is mandatory")}
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return field.ErrorList{field.Invalid(path, "<value omitted>", fmt.Sprintf("error parsing data: %v", err))}
	}
	if value == nil {
		return field.ErrorList{field.Required(path, "data is mandatory")}
	}
	if _, ok := value.(map[string]any); !ok {
		return field.ErrorList{field.Required(path, "data must be a valid JSON object")}
	}
	return nil
}

// compact removes insignificant white space from JSON, which not every encoding preserves.
func compact(raw []byte) []byte {
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil {
		return raw
	}
	return out.Bytes()
}

// controllerOf formats the workload that controls a revision.
func controllerOf(r *appsv1.ControllerRevision) string {
	owner := metav1.GetControllerOf(r)
	if owner == nil {
		return "<none>"
	}
	gk := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind()
	return strings.ToLower(gk.String()) + "/" + owner.Name
}

package resource

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
	"github.com/bowline-dev/bowline/internal/object"
)

// resourceClaimTemplateKind returns the kind of templates, from which a controller creates one claim for each pod.
func resourceClaimTemplateKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "ResourceClaimTemplate", Plural: "resourceclaimtemplates", Singular: "resourceclaimtemplate",
		Namespaced:     true,
		Endpoints:      endpoints("ResourceClaimTemplate"),
		ValidateIn:     validateTemplateAccess,
		ReturnsDeleted: true,
	}, kind.Rules[*resourcev1.ResourceClaimTemplate]{
		Default: func(t *resourcev1.ResourceClaimTemplate) { defaultRequests(t.Spec.Spec.Devices.Requests) },
		Prepare: func(t, _ *resourcev1.ResourceClaimTemplate, _ string) {
			dropFromRequests(t.Spec.Spec.Devices.Requests)
		},
		Validate: fieldcheck.WithFinalizers(validateClaimTemplate),
		Columns:  []metav1.TableColumnDefinition{kind.NameColumn, kind.AgeColumn},
		Row: func(t *resourcev1.ResourceClaimTemplate, now time.Time) []any {
			return []any{t.Name, kind.Age(t.CreationTimestamp.Time, now)}
		},
		Versions: claimTemplateVersions(),
	})
}

func validateClaimTemplate(t, old *resourcev1.ResourceClaimTemplate, _ string) field.ErrorList {
	path := field.NewPath("spec")
	var f findings
	f.write(validateTemplateMeta(&t.Spec.ObjectMeta, path.Child("metadata"))...)
	f.add(checkClaimSpec(&t.Spec.Spec, path.Child("spec")))
	if old != nil && !equality.Semantic.DeepEqual(t.Spec, old.Spec) {
		f.write(field.Invalid(path, templateLayout(&t.Spec), apivalidation.FieldImmutableErrorMsg))
	}
	return f.all()
}

// validateTemplateMeta allows only labels and annotations: the controller sets the other metadata of claims.
func validateTemplateMeta(meta *metav1.ObjectMeta, path *field.Path) field.ErrorList {
	errs := apivalidation.ValidateAnnotations(meta.Annotations, path.Child("annotations"))
	errs = append(errs, metavalidation.ValidateLabels(meta.Labels, path.Child("labels"))...)
	for f, v := range reflect.ValueOf(*meta).Fields() {
		if f.Name != "Labels" && f.Name != "Annotations" && !v.IsZero() {
			errs = append(errs, field.Forbidden(path.Child(strings.ToLower(f.Name[:1])+f.Name[1:]), "cannot be set"))
		}
	}
	return errs
}

// templateLayout formats a template as Kubernetes' messages do.
func templateLayout(t *resourcev1.ResourceClaimTemplateSpec) json.RawMessage {
	data, err := json.Marshal(struct {
		metav1.ObjectMeta
		Spec json.RawMessage
	}{t.ObjectMeta, podspec.Layout(t.Spec)})
	if err != nil {
		return json.RawMessage("null") // the parameters of a configuration are not JSON
	}
	return data
}

package flowcontrol

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
	"github.com/bowline-dev/bowline/internal/object"
)

func schemaKind(cache *object.Cache) kind.Kind {
	of := info()
	of.Kind, of.Plural, of.Singular = "FlowSchema", "flowschemas", "flowschema"
	of.CompareRows = compareSchemaRows
	docs := flowcontrolv1.FlowSchemaSpec{}.SwaggerDoc()
	return kind.NewTyped(cache, of, kind.Rules[*schema]{
		Default: func(s *schema) {
			if s.Spec.MatchingPrecedence == 0 {
				s.Spec.MatchingPrecedence = defaultPrecedence
			}
		},
		Prepare: func(s, old *schema, sub string) {
			if old != nil {
				keepMetadata(s, &old.ObjectMeta, sub)
			}
		},
		Validate: fieldcheck.WithFinalizers(validateSchema),
		Columns: []metav1.TableColumnDefinition{
			kind.NameColumn,
			{Name: "PriorityLevel", Type: "string",
				Description: flowcontrolv1.PriorityLevelConfigurationReference{}.SwaggerDoc()["name"]},
			{Name: "MatchingPrecedence", Type: "string", Description: docs["matchingPrecedence"]},
			{Name: "DistinguisherMethod", Type: "string", Description: docs["distinguisherMethod"]},
			kind.AgeColumn,
			{Name: "MissingPL", Type: "string",
				Description: "references a broken or non-existent PriorityLevelConfiguration"},
		},
		Row: schemaRow,
	})
}

const (
	defaultPrecedence = 1000
	maxPrecedence     = 10000
)

// compareSchemaRows compares by the order in which the server tries schemas.
func compareSchemaRows(a, b kind.Object) int {
	return cmp.Or(cmp.Compare(a.(*schema).Spec.MatchingPrecedence, b.(*schema).Spec.MatchingPrecedence),
		strings.Compare(a.GetName(), b.GetName()))
}

func schemaRow(s *schema, now time.Time) []any {
	distinguisher, dangling := nothing, "?"
	if d := s.Spec.DistinguisherMethod; d != nil {
		distinguisher = string(d.Type)
	}
	for _, c := range s.Status.Conditions {
		if c.Type == flowcontrolv1.FlowSchemaConditionDangling {
			dangling = string(c.Status)
			break
		}
	}
	return []any{s.Name, s.Spec.PriorityLevelConfiguration.Name, int64(s.Spec.MatchingPrecedence), distinguisher,
		kind.Age(s.CreationTimestamp.Time, now), dangling}
}

func validateSchema(s, _ *schema, sub string) (errs field.ErrorList) {
	conditions := field.NewPath("status", "conditions")
	types := make([]string, len(s.Status.Conditions))
	for i, c := range s.Status.Conditions {
		types[i] = string(c.Type)
	}
	if sub == statusSub {
		return validateConditions(conditions, types)
	}
	spec := field.NewPath("spec")
	errs = validateSchemaSpec(s.Name, &s.Spec, spec)
	if want := mandatorySchema(s.Name); want != nil && !equality.Semantic.DeepEqual(s.Spec, want.Spec) {
		errs = append(errs, field.Invalid(spec, podspec.Layout(s.Spec),
			fmt.Sprintf("spec of '%s' must equal the fixed value", s.Name)))
	}
	return append(errs, validateConditions(conditions, types)...)
}

// validateConditions validates the types of the conditions in a status.
func validateConditions(path *field.Path, types []string) (errs field.ErrorList) {
	seen := map[string]bool{}
	for i, t := range types {
		at := path.Index(i).Child("type")
		if seen[t] {
			errs = append(errs, field.Duplicate(at, t))
		}
		seen[t] = true
		errs = append(errs, fieldcheck.Required(at, t, "")...)
	}
	return errs
}

func validateSchemaSpec(name string, spec *flowcontrolv1.FlowSchemaSpec, path *field.Path) (errs field.ErrorList) {
	precedence, n := path.Child("matchingPrecedence"), spec.MatchingPrecedence
	if n <= 0 {
		errs = append(errs, field.Invalid(precedence, n, "must be a positive value"))
	}
	if n > maxPrecedence {
		errs = append(errs, field.Invalid(precedence, n, fmt.Sprintf("must not be greater than %v", maxPrecedence)))
	}
	if n == 1 && name != flowcontrolv1.FlowSchemaNameExempt {
		errs = append(errs, field.Invalid(precedence, n,
			"only the schema named 'exempt' may have matchingPrecedence 1"))
	}
	methods := []flowcontrolv1.FlowDistinguisherMethodType{flowcontrolv1.FlowDistinguisherMethodByNamespaceType,
		flowcontrolv1.FlowDistinguisherMethodByUserType}
	if d := spec.DistinguisherMethod; d != nil {
		for _, err := range fieldcheck.OneOf(path.Child("distinguisherMethod", "type"), d.Type, methods...) {
			err.BadValue = podspec.Layout(d) // Kubernetes shows the object
			errs = append(errs, err)
		}
	}
	reference := path.Child("priorityLevelConfiguration", "name")
	if of := spec.PriorityLevelConfiguration.Name; of == "" {
		errs = append(errs, field.Required(reference, "must reference a priority level"))
	} else {
		errs = append(errs, fieldcheck.ObjectName(reference, of, false)...)
	}
	for i := range spec.Rules {
		errs = append(errs, validateRule(&spec.Rules[i], path.Child("rules").Index(i))...)
	}
	return errs
}

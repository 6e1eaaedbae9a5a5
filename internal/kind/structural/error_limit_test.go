package structural

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// Up to the limit, the errors are those of the library.
func TestLimitedValidationAgreesWithLibrary(t *testing.T) {
	t.Parallel()
	s := spec.MapProperty(spec.ArrayProperty(spec.StringProperty()))
	value := map[string]any{}
	for i := range 30 {
		value[fmt.Sprint("f", i)] = []any{"a", int64(1), map[string]any{}, "b", nil}
	}
	want := map[string]bool{}
	for _, err := range validate.NewSchemaValidator(s, nil, "", strfmt.Default).Validate(value).Errors {
		want[err.Error()] = true
	}
	got := validateLimited(s, value).Errors
	if len(want) == 0 || len(got) != len(want) {
		t.Fatalf("got %d errors, want the %d of the library", len(got), len(want))
	}
	for _, err := range got {
		if !want[err.Error()] {
			t.Errorf("the library does not report %v", err)
		}
	}
}

// The library alone takes minutes for these values.
func TestValidationStopsAfterManyErrors(t *testing.T) {
	t.Parallel()
	s := spec.ArrayProperty(spec.StringProperty())
	value := make([]any, 90_000)
	for i := range value {
		value[i] = int64(i)
	}
	started := time.Now()
	got := validateLimited(s, value).Errors
	if len(got) <= maxSchemaErrors || len(got) > maxSchemaErrors+10 || got[len(got)-1] != errManyErrors {
		t.Errorf("got %d errors, the last is %v", len(got), got[len(got)-1])
	}
	if took := time.Since(started); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestHasManyValues(t *testing.T) {
	t.Parallel()
	many := make([]any, maxSchemaErrors)
	if hasManyValues(map[string]any{"a": many[:len(many)-1]}) || !hasManyValues(map[string]any{"a": many}) ||
		hasManyValues("text") {
		t.Errorf("values are counted wrongly")
	}
}

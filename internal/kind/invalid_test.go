package kind_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/kind"
)

// Few errors with short values are answered as by Kubernetes; of many, the first hundred are listed.
func TestNewInvalidLimitsErrors(t *testing.T) {
	t.Parallel()
	gk, path := schema.GroupKind{Kind: "Pod"}, field.NewPath("spec")
	few := field.ErrorList{field.Required(path, "needed"), field.Invalid(path, 5, "wrong"), field.Forbidden(path, "no")}
	if diff := cmp.Diff(apierrors.NewInvalid(gk, "a", few), kind.NewInvalid(gk, "a", few)); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	var many field.ErrorList
	for i := range 250 {
		many = append(many, field.Required(path.Index(i), ""))
	}
	causes := kind.NewInvalid(gk, "a", many).ErrStatus.Details.Causes
	if len(causes) != 101 || causes[99].Field != "spec[99]" || causes[100].Message != "150 more errors are not listed" {
		t.Errorf("%d causes, the last is %+v", len(causes), causes[len(causes)-1])
	}
	long := strings.Repeat("x", 1<<20)
	for name, err := range map[string]*field.Error{
		"a text":    field.Invalid(path, long, "wrong"),
		"a list":    field.Invalid(path, []string{long}, "wrong"),
		"a detail":  field.Forbidden(path, long),
		"its field": field.Required(path.Key(long), ""),
	} {
		errs := field.ErrorList{few[0], err, few[2]}
		status := kind.NewInvalid(gk, long, errs).ErrStatus
		if size := len(status.Message); size > 64<<10 || len(status.Details.Causes) != 3 {
			t.Errorf("%s: the message has %d bytes, and there are %d causes", name, size, len(status.Details.Causes))
		}
		if got := status.Details.Causes[2].Message; got != "Forbidden: no" || len(errs[1].Error()) < 1<<20 {
			t.Errorf("%s: the last cause is %q", name, got)
		}
	}
}

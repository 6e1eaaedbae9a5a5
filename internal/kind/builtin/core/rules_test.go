package core

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// rule is a write and its expected errors. The test with the list names the source.
type rule struct {
	name string
	// old is the old state for an update, or empty for a create; body is the request. Both are JSON without
	// kind, apiVersion and name, in the given version.
	old, body string
	sub       string
	version   string
	// want lists the errors as `field: text`; empty for a valid write.
	want []string
}

// check processes the write of each rule.
func check(t *testing.T, resource string, rules []rule) {
	t.Helper()
	k := kindsByResource()[resource]
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			var old kind.Object
			if r.old != "" {
				old = read(t, k, r.version, r.old)
				k.Prepare(old, nil, "")
				if errs := assign(k, old, nil); len(errs) > 0 {
					t.Fatal(errs)
				}
			}
			obj := read(t, k, r.version, r.body)
			k.Prepare(obj, old, r.sub)
			errs := assign(k, obj, old)
			if len(errs) == 0 {
				errs = k.Validate(t.Context(), obj, old, r.sub)
			}
			var got []string
			for _, e := range errs {
				got = append(got, e.Error())
			}
			if diff := cmp.Diff(r.want, got); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func read(t *testing.T, k kind.Kind, version, body string) kind.Object {
	t.Helper()
	if version == "" {
		version = "v1"
	}
	obj, strict, err := k.DecodeRequest(object.Form{APIVersion: version}, []byte(body), false)
	if err != nil || len(strict) > 0 {
		t.Fatalf("%s: %v %v", body, err, strict)
	}
	if obj.GetName() == "" {
		obj.SetName("x")
	}
	if k.Info().Namespaced && obj.GetNamespace() == "" {
		obj.SetNamespace(metav1.NamespaceDefault)
	}
	return obj
}

func assign(k kind.Kind, obj, old kind.Object) field.ErrorList {
	if c := k; c.Info().Claims {
		errs, err := c.Assign(obj, old, kind.Values{Taken: free, Ranges: defaultRange})
		if err != nil {
			errs = append(errs, field.InternalError(nil, err))
		}
		return errs
	}
	return nil
}

// createWarnings returns the warnings of a create.
func createWarnings(t *testing.T, resource, body string) []string {
	t.Helper()
	k := kindsByResource()[resource]
	obj := read(t, k, "", body)
	k.Prepare(obj, nil, "")
	return k.Warnings(obj, nil, "")
}

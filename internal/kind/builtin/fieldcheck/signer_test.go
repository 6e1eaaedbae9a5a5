package fieldcheck_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

const (
	label = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and " +
		"end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
		"'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
	subdomain = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must " +
		"start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
		`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`
)

// TestSignerNames checks the rules of ValidateSignerName (pkg/apis/core/validation/names.go).
func TestSignerNames(t *testing.T) {
	t.Parallel()
	long := strings.TrimSuffix(strings.Repeat("a2345678.", 29), ".") // 260 bytes
	for name, want := range map[string][]string{
		"example.com/signer":         nil,
		"example.com/namespace.name": nil,
		"":                           {"s: Required value"},
		"example.com": {`s: Invalid value: "example.com": must be a fully qualified domain and path of the form ` +
			`'example.com/signer-name'`},
		"example.com/a/b": {`s: Invalid value: "example.com/a/b": must be a fully qualified domain and path of the form ` +
			`'example.com/signer-name'`},
		"example/a": {`s: Invalid value: "example": should be a domain with at least two segments separated by dots`},
		"-a.-b/c":   {`s: Invalid value: "-a.-b": validating label "-a": ` + label},
		"a.b/C.D":   {`s: Invalid value: "C.D": validating label "C": ` + subdomain},
		long + "/a": {"s: Too long: may not be more than 253 bytes"},
		"a.b/" + strings.Repeat(long+".", 3) + "a": {"s: Too long: may not be more than 571 bytes"},
		"a.b/" + strings.Repeat("-.", 64<<10):      {"s: Too long: may not be more than 571 bytes"},
	} {
		var got []string
		for _, err := range fieldcheck.SignerName(field.NewPath("s"), name) {
			got = append(got, err.Error())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%.50s: %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]bool{
		"kubernetes.io/a": true, "b.kubernetes.io/a": true, "xkubernetes.io/a": false, "example.com/kubernetes.io": false,
	} {
		if fieldcheck.IsKubernetesSigner(name) != want {
			t.Errorf("IsKubernetesSigner(%q) is %t", name, !want)
		}
	}
}

func TestUserAnnotationsHaveDomains(t *testing.T) {
	t.Parallel()
	errs := fieldcheck.UserAnnotations(field.NewPath("a"), map[string]string{"b": "", "Example.com/c": ""})
	if want := `a: Invalid value: "b": must be a domain-prefixed key (such as "acme.io/foo")`; len(errs) != 1 ||
		errs[0].Error() != want {
		t.Errorf("%v, want %s", errs, want)
	}
}

package scaffold

import (
	"errors"
	"fmt"
	"go/token"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

var (
	versionName = regexp.MustCompile(`^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$`)
	camelCase   = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
)

// check validates the names that the user must give.
func (c *Controller) check() error {
	return errors.Join(checkName(c.Name), checkGroup(c.Group), checkVersion(c.Version), checkKind(c.Kind))
}

// checkName validates the name, which must be usable as a folder, a program and an element of a module path
// on every system.
func checkName(name string) error {
	why := ""
	switch {
	case name == "":
		why = "it is empty"
	case len(validation.IsDNS1035Label(name)) > 0:
		why = "must be at most 63 lower-case letters, digits and '-', start with a letter, and not end with '-'"
	case token.IsKeyword(name):
		why = "it is a Go keyword"
	case slices.Contains([]string{"api", "crd", "example"}, name):
		why = "a folder of the project has that name"
	default:
		return nil
	}
	return fmt.Errorf("invalid name %q: %s", name, why)
}

// checkGroup validates the group, which must not be reserved.
func checkGroup(group string) error {
	why := ""
	switch {
	case group == "":
		why = "it is empty: give a DNS name that you own, such as example.com"
	case len(validation.IsDNS1123Subdomain(group)) > 0 || !strings.Contains(group, "."):
		why = "must be a DNS name with a dot, of lower-case letters, digits, '-' and '.', such as example.com"
	case isProtected(group):
		why = "groups that end in k8s.io and kubernetes.io are reserved for the Kubernetes community"
	default:
		return nil
	}
	return fmt.Errorf("invalid group %q: %s", group, why)
}

// isProtected reports whether the server accepts definitions of a group only with an approval annotation.
func isProtected(group string) bool {
	return slices.ContainsFunc([]string{"k8s.io", "kubernetes.io"}, func(domain string) bool {
		return group == domain || strings.HasSuffix(group, "."+domain)
	})
}

func checkVersion(version string) error {
	if !versionName.MatchString(version) || len(version) > validation.DNS1035LabelMaxLength {
		return fmt.Errorf("invalid version %q: must look like v1, v1beta1 or v1alpha1", version)
	}
	return nil
}

// checkKind validates the kind, which must be a Go type name that the project and the Kubernetes libraries do
// not use.
func checkKind(kind string) error {
	why := ""
	switch {
	case kind == "":
		why = "it is empty: give a name such as Greeting"
	case !camelCase.MatchString(kind) || len(kind) > longestKind:
		why = "must be at most 59 letters and digits in CamelCase, such as Greeting or DNSRecord"
	case slices.Contains([]string{"GroupVersion", "GroupVersionKind", "GroupVersionResource", "AddToScheme"}, kind):
		why = "the project itself declares a " + kind + " beside it"
	case kind == "List" || isOfEveryGroup(kind):
		why = "every API group already has a kind of that name"
	default:
		return nil
	}
	return fmt.Errorf("invalid kind %q: %s", kind, why)
}

// longestKind leaves room for the suffix of the list kind.
const longestKind = validation.DNS1035LabelMaxLength - len("List")

// isOfEveryGroup reports whether Kubernetes' libraries register a kind of this name in every group or as an
// unversioned kind.
func isOfEveryGroup(kind string) bool {
	scheme, version := runtime.NewScheme(), schema.GroupVersion{Group: "example.com", Version: "v1"}
	metav1.AddToGroupVersion(scheme, version)
	return scheme.Recognizes(version.WithKind(kind)) || scheme.Recognizes(metav1.Unversioned.WithKind(kind))
}

// checkDerived validates the names that Complete may have derived.
func (c *Controller) checkDerived() error {
	if len(validation.IsDNS1035Label(c.Plural)) > 0 {
		return fmt.Errorf("invalid plural %q: must be at most 63 lower-case letters, digits and '-', such as %ss",
			c.Plural, c.Singular())
	}
	if name := c.Plural + "." + c.Group; len(name) > longestDefinition {
		return fmt.Errorf("plural and group, %s, are longer than %d characters together", name, longestDefinition)
	}
	return checkModule(c.Module)
}

// longestDefinition limits the length of a definition's name, which is part of a file name.
const longestDefinition = 240

// checkModule validates the module path. Go reserves paths without a dot in the first element for its own
// packages. The path must not be inside of a module that the project requires.
func checkModule(path string) error {
	if err := module.CheckPath(path); err != nil {
		return fmt.Errorf("invalid module %q: give a path such as example.com/greeter with --module: %w",
			path, err)
	}
	if slices.Contains(strings.Split(path, "/"), "vendor") {
		return fmt.Errorf("invalid module %q: Go reserves folders named vendor; "+
			"choose another name, or give --module", path)
	}
	required, err := requiredModules()
	if err != nil {
		return err
	}
	for _, other := range required {
		if path == other || strings.HasPrefix(path, other+"/") {
			return fmt.Errorf("invalid module %q: the project requires %s", path, other)
		}
	}
	return nil
}

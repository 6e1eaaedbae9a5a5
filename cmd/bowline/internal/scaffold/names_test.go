package scaffold_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/scaffold"
)

// invalidNames maps each field of a Controller to invalid values, and each of these to a part of the error.
var invalidNames = map[string]map[string]string{
	"Name": {
		"":                      `invalid name "": it is empty`,
		"Greeter":               `invalid name "Greeter": must be at most 63 lower-case`,
		"..":                    `invalid name ".."`,
		".":                     `invalid name "."`,
		"a/b":                   `invalid name "a/b"`,
		`a\b`:                   `invalid name`,
		"/tmp":                  `invalid name "/tmp"`,
		"a.b":                   `invalid name "a.b"`,
		"a b":                   `invalid name "a b"`,
		"1st":                   `start with a letter`,
		"a-":                    `not end with '-'`,
		"über":                  `invalid name "über"`,
		"a\nb":                  `invalid name "a\nb"`,
		"func":                  `it is a Go keyword`,
		"crd":                   `a folder of the project has that name`,
		strings.Repeat("a", 64): `at most 63`,
	},
	"Group": {
		"":                              `invalid group "": it is empty: give a DNS name that you own, such as example.com`,
		"example":                       `a DNS name with a dot`,
		"Example.com":                   `a DNS name with a dot`,
		"example..com":                  `a DNS name with a dot`,
		"example.com/v1":                `a DNS name with a dot`,
		"-example.com":                  `a DNS name with a dot`,
		strings.Repeat("a.", 127) + "b": `a DNS name with a dot`,
		"k8s.io":                        `reserved for the Kubernetes community`,
		"sample.k8s.io":                 `reserved for the Kubernetes community`,
		"x.kubernetes.io":               `reserved for the Kubernetes community`,
	},
	"Version": {
		"":       `invalid version ""`,
		"1":      `invalid version "1": must look like v1, v1beta1 or v1alpha1`,
		"v1beta": `invalid version`,
		"v0":     `invalid version`,
	},
	"Kind": {
		"":                            `invalid kind "": it is empty`,
		"greeting":                    `in CamelCase, such as Greeting or DNSRecord`,
		"type":                        `in CamelCase`,
		"My-Kind":                     `in CamelCase`,
		"My_Kind":                     `in CamelCase`,
		"1Kind":                       `in CamelCase`,
		"Größe":                       `in CamelCase`,
		"K" + strings.Repeat("k", 59): `at most 59`,
		"GroupVersion":                `the project itself declares a GroupVersion`,
		"AddToScheme":                 `the project itself declares`,
		"List":                        `every API group already has a kind of that name`,
		"Status":                      `every API group already has a kind of that name`,
		"DeleteOptions":               `every API group already has a kind of that name`,
		"WatchEvent":                  `every API group already has a kind of that name`,
	},
	"Plural": {
		"Greetings":        `invalid plural "Greetings"`,
		"greetings/status": `invalid plural "greetings/status"`,
	},
	"Module": {
		"example.com/../x":               `invalid module "example.com/../x"`,
		"a b":                            `invalid module`,
		"/x":                             `invalid module`,
		"greeter":                        `missing dot in first path element`,
		"net/http":                       `invalid module`,
		"example.com/v1":                 `invalid module`,
		"example.com/vendor":             `Go reserves folders named vendor`,
		"k8s.io/api":                     `the project requires k8s.io/api`,
		"github.com/bowline-dev/bowline": `the project requires github.com/bowline-dev/bowline`,

		"github.com/bowline-dev/bowline/client": `the project requires github.com/bowline-dev/bowline`,
	},
}

func TestCompleteRejectsInvalidNames(t *testing.T) {
	t.Parallel()
	for field, refusals := range invalidNames {
		for value, refusal := range refusals {
			project := scaffold.Controller{Name: "a", Group: "example.com", Version: "v1", Kind: "Greeting"}
			reflect.ValueOf(&project).Elem().FieldByName(field).SetString(value)
			if err := project.Complete(); err == nil || !strings.Contains(err.Error(), refusal) {
				t.Errorf("%s %q: got error %v, want %s", field, value, err, refusal)
			}
		}
	}
}

// TestProgramMatchesGoBuild checks the program's name for modules that end with a major version.
func TestProgramMatchesGoBuild(t *testing.T) {
	t.Parallel()
	for module, program := range map[string]string{
		"example.com/greeter": "greeter", "example.com/greeter/v2": "greeter", "gopkg.in/greeter.v3": "greeter.v3",
		"example.com/v2/greeter": "greeter",
	} {
		project := scaffold.Controller{Name: "a", Group: "example.com", Version: "v1", Kind: "Greeting", Module: module}
		if err := project.Complete(); err != nil || project.Program() != program {
			t.Errorf("program of the module %s: got %s, %v; want %s", module, project.Program(), err, program)
		}
	}
}

func TestCompleteAcceptsUnreservedKinds(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"Controller", "Manager", "Context", "PlayList", "Spec", "Kind", "Resource", "Pod",
		"Func", "Error", "String"} {
		project := scaffold.Controller{Name: "a", Group: "example.com", Version: "v1", Kind: kind}
		if err := project.Complete(); err != nil {
			t.Error(err)
		}
	}
}

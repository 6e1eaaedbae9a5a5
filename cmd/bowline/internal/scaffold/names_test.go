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
		"":                      `the name "" cannot be a project's: it is empty`,
		"Greeter":               `the name "Greeter" cannot be a project's: it must be at most 63 lower-case`,
		"..":                    `the name ".." cannot`,
		".":                     `the name "." cannot`,
		"a/b":                   `the name "a/b" cannot`,
		`a\b`:                   `cannot be a project's`,
		"/tmp":                  `the name "/tmp" cannot`,
		"a.b":                   `the name "a.b" cannot`,
		"a b":                   `the name "a b" cannot`,
		"1st":                   `begin with a letter`,
		"a-":                    `not end with '-'`,
		"über":                  `the name "über" cannot`,
		"a\nb":                  `the name "a\nb" cannot`,
		"func":                  `it is a keyword of Go`,
		"crd":                   `a folder of the project has that name`,
		strings.Repeat("a", 64): `at most 63`,
	},
	"Group": {
		"":                              `the group "" cannot be a kind's: it is empty: give one of your own, such as example.com`,
		"example":                       `a DNS name with a dot`,
		"Example.com":                   `a DNS name with a dot`,
		"example..com":                  `a DNS name with a dot`,
		"example.com/v1":                `a DNS name with a dot`,
		"-example.com":                  `a DNS name with a dot`,
		strings.Repeat("a.", 127) + "b": `a DNS name with a dot`,
		"k8s.io":                        `the Kubernetes community's`,
		"sample.k8s.io":                 `the Kubernetes community's`,
		"x.kubernetes.io":               `the Kubernetes community's`,
	},
	"Version": {
		"":       `the version "" is none`,
		"1":      `the version "1" is none: it must be like v1, v1beta1 or v1alpha1`,
		"v1beta": `is none`,
		"v0":     `is none`,
	},
	"Kind": {
		"":                            `the kind "" cannot be one of your own: it is empty`,
		"greeting":                    `in CamelCase, such as Greeting or DNSRecord`,
		"type":                        `in CamelCase`,
		"My-Kind":                     `in CamelCase`,
		"My_Kind":                     `in CamelCase`,
		"1Kind":                       `in CamelCase`,
		"Größe":                       `in CamelCase`,
		"K" + strings.Repeat("k", 59): `at most 59`,
		"GroupVersion":                `the project itself declares a GroupVersion`,
		"AddToScheme":                 `the project itself declares`,
		"List":                        `every group has a kind of that name`,
		"Status":                      `every group has a kind of that name`,
		"DeleteOptions":               `every group has a kind of that name`,
		"WatchEvent":                  `every group has a kind of that name`,
	},
	"Plural": {
		"Greetings":        `the plural "Greetings" is none`,
		"greetings/status": `the plural "greetings/status" is none`,
	},
	"Module": {
		"example.com/../x":               `the module "example.com/../x" is none that Go takes`,
		"a b":                            `is none that Go takes`,
		"/x":                             `is none that Go takes`,
		"greeter":                        `missing dot in first path element`,
		"net/http":                       `is none that Go takes`,
		"example.com/v1":                 `is none that Go takes`,
		"example.com/vendor":             `Go has another use for what is in a folder vendor`,
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
				t.Errorf("%s %q: the error is %v; want %s", field, value, err, refusal)
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
			t.Errorf("the program of the module %s is %s, %v; want %s", module, project.Program(), err, program)
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

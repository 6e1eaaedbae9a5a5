package apiextensions

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind/structural"
	"github.com/bowline-dev/bowline/internal/object"
)

var (
	noon  = metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	later = metav1.NewTime(noon.Add(time.Hour))
)

// networks returns a definition with an empty status.
func networks(group string) *definition {
	return &definition{
		ObjectMeta: metav1.ObjectMeta{Name: "networks." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group,
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: "networks", Singular: "network", Kind: "Network", ListKind: "NetworkList",
				ShortNames: []string{"net", "nw"}, Categories: []string{"all"},
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true}},
		},
	}
}

// taking returns a Taken for these names, in the form resources/net or kinds/Network.
func taking(names ...string) Taken {
	return func(in NameScope, name string) bool { return slices.Contains(names, string(in)+"/"+name) }
}

// conditions formats the conditions of a definition, one per line.
func conditions(crd *definition) string {
	var lines []string
	for _, c := range crd.Status.Conditions {
		lines = append(lines, fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
	return strings.Join(lines, "\n")
}

const (
	accepted    = "NamesAccepted=True NoConflicts: no conflicts found"
	established = "Established=True InitialNamesAccepted: the initial names have been accepted"
	notAccepted = "Established=False NotAccepted: not all names are accepted"
)

// TestEstablish checks the outcomes for the names of a new definition.
func TestEstablish(t *testing.T) {
	t.Parallel()
	tests := []struct {
		rule       string
		taken      Taken
		conditions string
		left       func(*apiextensionsv1.CustomResourceDefinitionNames)
	}{
		{"all names are free", taking(), accepted + "\n" + established, nil},
		{"a kind does not take a resource's name", taking("kinds/networks", "resources/Network"),
			accepted + "\n" + established, nil},
		{"the plural is taken", taking("resources/networks"),
			"NamesAccepted=False PluralConflict: \"networks\" is already in use\n" + notAccepted,
			func(n *apiextensionsv1.CustomResourceDefinitionNames) { n.Plural = "" }},
		{"the singular is taken", taking("resources/network"),
			"NamesAccepted=False SingularConflict: \"network\" is already in use\n" + notAccepted,
			func(n *apiextensionsv1.CustomResourceDefinitionNames) { n.Singular = "" }},
		{"a short name is taken", taking("resources/net"),
			"NamesAccepted=False ShortNamesConflict: \"net\" is already in use\n" + notAccepted,
			func(n *apiextensionsv1.CustomResourceDefinitionNames) { n.ShortNames = nil }},
		{"two short names are taken", taking("resources/net", "resources/nw"),
			"NamesAccepted=False ShortNamesConflict: [\"net\" is already in use, \"nw\" is already in use]\n" +
				notAccepted,
			func(n *apiextensionsv1.CustomResourceDefinitionNames) { n.ShortNames = nil }},
		{"the kind is taken", taking("kinds/Network"),
			"NamesAccepted=False KindConflict: \"Network\" is already in use\n" + notAccepted,
			func(n *apiextensionsv1.CustomResourceDefinitionNames) { n.Kind = "" }},
		{"the list kind is taken", taking("kinds/NetworkList"),
			"NamesAccepted=False ListKindConflict: \"NetworkList\" is already in use\n" + notAccepted,
			func(n *apiextensionsv1.CustomResourceDefinitionNames) { n.ListKind = "" }},
		{"of several conflicts the last is told", taking("resources/networks", "kinds/Network"),
			"NamesAccepted=False KindConflict: \"Network\" is already in use\n" + notAccepted,
			func(n *apiextensionsv1.CustomResourceDefinitionNames) { n.Plural, n.Kind = "", "" }},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			crd := networks("example.com")
			if !Establish(crd, test.taken, noon) {
				t.Error("Establish reports that it changed nothing")
			}
			if got := conditions(crd); got != test.conditions {
				t.Errorf("\nwant %s\ngot  %s", test.conditions, got)
			}
			want := *crd.Spec.Names.DeepCopy()
			if test.left != nil {
				test.left(&want)
			}
			if !reflect.DeepEqual(crd.Status.AcceptedNames, want) {
				t.Errorf("accepted names %+v, want %+v", crd.Status.AcceptedNames, want)
			}
			if Establish(crd, test.taken, later) {
				t.Error("a second Establish changed something")
			}
		})
	}
}

// TestEstablishedIsRetained checks that an established definition with a new, taken name is still served and
// retains its old name.
func TestEstablishedIsRetained(t *testing.T) {
	t.Parallel()
	crd := networks("example.com")
	Establish(crd, taking(), noon)
	crd.Spec.Names.Singular = "pod"
	if !Establish(crd, taking("resources/pod", "resources/networks"), later) || !IsEstablished(crd) {
		t.Errorf("the definition did not stay established:\n%s", conditions(crd))
	}
	if got := crd.Status.AcceptedNames; got.Singular != "network" || got.Plural != "networks" {
		t.Errorf("accepted names %+v, want the old ones", got)
	}
	for _, c := range crd.Status.Conditions {
		if changed := c.Type == apiextensionsv1.NamesAccepted; changed != c.LastTransitionTime.Equal(&later) {
			t.Errorf("condition %s last changed at %s, want only NamesAccepted to change", c.Type, c.LastTransitionTime)
		}
	}
}

// TestInvalidCABundlePreventsEstablishment checks that a definition with an invalid CA bundle of its
// conversion webhook is not established; but one that is established remains so.
func TestInvalidCABundlePreventsEstablishment(t *testing.T) {
	t.Parallel()
	crd := networks("example.com")
	client := &apiextensionsv1.WebhookClientConfig{CABundle: []byte("no certificate")}
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
		Webhook: &apiextensionsv1.WebhookConversion{ClientConfig: client},
	}
	Establish(crd, taking(), noon)
	if got, want := conditions(crd), accepted+
		"\nEstablished=False InvalidCABundle: The conversion webhook CABundle is invalid"; got != want {
		t.Errorf("invalid bundle: got\n%s\nwant\n%s", got, want)
	}
	for _, bundle := range [][]byte{nil, []byte("no certificate")} {
		client.CABundle = bundle
		Establish(crd, taking(), later)
		if got, want := conditions(crd), accepted+"\n"+established; got != want {
			t.Errorf("established, then with the bundle %q:\n%s\nwant\n%s", bundle, got, want)
		}
	}
}

// TestEstablishAfterConflict checks that a definition gets a name once it is free.
func TestEstablishAfterConflict(t *testing.T) {
	t.Parallel()
	crd := networks("example.com")
	Establish(crd, taking("kinds/Network"), noon)
	if IsEstablished(crd) || !Establish(crd, taking(), later) || !IsEstablished(crd) ||
		conditions(crd) != accepted+"\n"+established {
		t.Errorf("the definition was established too early or not at all:\n%s", conditions(crd))
	}
}

// TestApprovalCondition checks the condition of a definition in a community group.
func TestApprovalCondition(t *testing.T) {
	t.Parallel()
	const missing = `protected groups must have approval annotation "api-approved.kubernetes.io"`
	tests := []struct{ group, annotation, condition string }{
		{"example.com", "", ""},
		{"k8s.io", "", "KubernetesAPIApprovalPolicyConformant=False MissingAnnotation: " + missing +
			", see https://github.com/kubernetes/enhancements/pull/1111"},
		{"sample.kubernetes.io", "x",
			"KubernetesAPIApprovalPolicyConformant=False InvalidAnnotation: " + missing +
				` with either a URL or a reason starting with "unapproved", see https://github.com/kubernetes/enhancements/pull/1111`},
		{"sample.k8s.io", "unapproved, an example",
			`KubernetesAPIApprovalPolicyConformant=False UnapprovedAnnotation: not approved: "unapproved, an example"`},
		{"sample.k8s.io", "https://example.com/1",
			"KubernetesAPIApprovalPolicyConformant=True ApprovedAnnotation: approved in https://example.com/1"},
	}
	for _, test := range tests {
		crd := networks(test.group)
		crd.Annotations = map[string]string{apiextensionsv1.KubeAPIApprovedAnnotation: test.annotation}
		Establish(crd, taking(), noon)
		if got := strings.TrimPrefix(strings.TrimPrefix(conditions(crd), accepted+"\n"+established),
			"\n"); got != test.condition {
			t.Errorf("group %s, annotation %q:\nwant %s\ngot  %s", test.group, test.annotation, test.condition, got)
		}
	}
}

// TestNonStructuralCondition checks that the condition exists while the schema is not structural.
func TestNonStructuralCondition(t *testing.T) {
	t.Parallel()
	crd := networks("example.com")
	crd.Spec.PreserveUnknownFields = true
	crd.Spec.Versions[0].Schema = &apiextensionsv1.CustomResourceValidation{
		OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{},
	}
	Establish(crd, taking(), noon)
	want := "NonStructuralSchema=True Violations: [spec.preserveUnknownFields: Invalid value: true: must be false, " +
		"spec.versions[0].schema.openAPIV3Schema.type: Required value: must not be empty at the root]"
	if got := conditions(crd); got != accepted+"\n"+established+"\n"+want {
		t.Errorf("conditions\n%s\nwant at last\n%s", got, want)
	}
	crd.Spec.PreserveUnknownFields = false
	if !Establish(crd, taking(), later) || conditions(crd) != accepted+"\n"+established {
		t.Errorf("the condition of a structural schema remains:\n%s", conditions(crd))
	}
}

// TestTakenIn checks that all names in a group are taken except the definition's own.
func TestTakenIn(t *testing.T) {
	t.Parallel()
	cache := object.NewCache(0)
	own, err := structural.New(cache, networks("example.com"), nil)
	if err != nil {
		t.Fatal(err)
	}
	routers := networks("example.com")
	routers.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: "routers", Kind: "Router",
		ListKind: "RouterList", ShortNames: []string{"rt"}}
	other, err := structural.New(cache, routers, nil)
	if err != nil {
		t.Fatal(err)
	}
	kinds := append(Kinds(cache), own, other)
	taken := TakenIn(kinds, networks("example.com"))
	for name, want := range map[string]bool{"networks": false, "network": false, "net": false, "routers": true,
		"router": true, "rt": true, "crd": false, "Router": false} {
		if got := taken(ResourceNames, name); got != want {
			t.Errorf("resource name %s: taken is %t, want %t", name, got, want)
		}
	}
	for name, want := range map[string]bool{"Network": false, "Router": true, "RouterList": true, "router": false} {
		if got := taken(KindNames, name); got != want {
			t.Errorf("kind name %s: taken is %t, want %t", name, got, want)
		}
	}
	clash := networks("apiextensions.k8s.io")
	clash.Spec.Names.Plural = "customresourcedefinitions"
	if !TakenIn(kinds, clash)(ResourceNames, "customresourcedefinitions") ||
		!TakenIn(kinds, clash)(ResourceNames, "crd") {
		t.Error("the names of a built-in kind are not taken")
	}
}

// TestTermination checks the status of a definition from the first DELETE to its removal.
func TestTermination(t *testing.T) {
	t.Parallel()
	crd := networks("example.com")
	Establish(crd, taking(), noon)
	crd.Finalizers = []string{"example.com/other"}
	steps := []struct {
		act        func()
		condition  string
		finalizers int
	}{
		{func() {}, "", 1},
		{func() {
			markDeleted(crd, noon)
		},
			"Terminating=True InstanceDeletionPending: CustomResourceDefinition marked for deletion; " +
				"CustomResource deletion will begin soon", 2},
		{func() {
			markDeleted(crd, noon)
		},
			"Terminating=True InstanceDeletionPending: CustomResourceDefinition marked for deletion; " +
				"CustomResource deletion will begin soon", 2},
		{func() {
			SetInstancesDeleting(crd, noon)
		}, "Terminating=True InstanceDeletionInProgress: CustomResource deletion is in progress", 2},
		{func() {
			SetInstancesDeleted(crd, noon)
		}, "Terminating=False InstanceDeletionCompleted: removed all instances", 1},
	}
	for i, step := range steps {
		step.act()
		got := strings.TrimPrefix(strings.TrimPrefix(conditions(crd), accepted+"\n"+established), "\n")
		if got != step.condition || len(crd.Finalizers) != step.finalizers {
			t.Errorf("step %d: condition %q, want %q; finalizers %q, want %d of them", i, got, step.condition,
				crd.Finalizers, step.finalizers)
		}
	}
	never := networks("example.com")
	markDeleted(never, noon)
	SetInstancesDeleted(never, noon)
	if got := conditions(never); got != "Terminating=False NeverEstablished: resource was never established" {
		t.Errorf("a definition that was never established: %s", got)
	}
}

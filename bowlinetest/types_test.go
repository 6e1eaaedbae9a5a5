package bowlinetest_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
)

// Boat is a kind as operators declare theirs, with fields of many types.
type Boat struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BoatSpec   `json:"spec,omitempty"`
	Status BoatStatus `json:"status,omitempty"`
}

// BoatSpec is the desired state of a boat.
type BoatSpec struct {
	Sails    int32                        `json:"sails"`
	Length   *int64                       `json:"length,omitempty"`
	Draught  float64                      `json:"draught,omitempty"`
	Fast     bool                         `json:"fast,omitempty"`
	Crew     []Sailor                     `json:"crew,omitempty"`
	Flags    map[string]string            `json:"flags,omitempty"`
	Cargo    map[string]resource.Quantity `json:"cargo,omitempty"`
	Berth    *intstr.IntOrString          `json:"berth,omitempty"`
	Launched *metav1.Time                 `json:"launched,omitempty"`
	Watch    *metav1.Duration             `json:"watch,omitempty"`
	Seal     []byte                       `json:"seal,omitempty"`
	Papers   *runtime.RawExtension        `json:"papers,omitempty"`
	Rig      *apiextensionsv1.JSON        `json:"rig,omitempty"`
	Crews    *metav1.LabelSelector        `json:"crews,omitempty"`
	Dinghy   *BoatSpec                    `json:"dinghy,omitempty"`
	Template *struct {
		metav1.ObjectMeta `json:"metadata,omitempty"`
	} `json:"template,omitempty"`
	_       int
	Ignored func() `json:"-"`
}

// Sailor is a member of a crew.
type Sailor struct {
	Name string `json:"name"`
	Rank string `json:"rank,omitempty"`
}

// BoatStatus is the observed state of a boat.
type BoatStatus struct {
	Afloat     bool               `json:"afloat,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BoatList is a list of boats.
type BoatList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Boat `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (b *Boat) DeepCopyObject() runtime.Object { return copyOf(b) }

// DeepCopyObject implements runtime.Object.
func (l *BoatList) DeepCopyObject() runtime.Object { return copyOf(l) }

// copyOf stands in for a generated DeepCopy.
func copyOf[T any](of *T) *T {
	data, err := yaml.Marshal(of)
	if err != nil {
		panic(err)
	}
	c := new(T)
	if err := yaml.Unmarshal(data, c); err != nil {
		panic(err)
	}
	return c
}

var boats = schema.GroupVersion{Group: "example.com", Version: "v1"}

// addBoats is the AddToScheme function of the kind.
func addBoats(s *runtime.Scheme) error {
	s.AddKnownTypes(boats, &Boat{}, &BoatList{})
	metav1.AddToGroupVersion(s, boats)
	return nil
}

const fullBoat = `
apiVersion: example.com/v1
kind: Boat
metadata: {name: full}
spec:
  sails: 2
  length: 12
  draught: 1.5
  fast: true
  crew: [{name: Ann}, {name: Ben, rank: mate}]
  flags: {de: black}
  cargo: {rum: 2Gi, ballast: 100}
  berth: north
  launched: "2026-01-02T03:04:05Z"
  watch: 4h0m0s
  seal: aGVsbG8=
  papers: {apiVersion: v1, kind: Any, deep: {er: [1, "a"]}}
  rig: [sloop, 1]
  crews: {matchLabels: {a: b}}
  dinghy: {sails: 0, dinghy: {sails: 0}}
  template: {metadata: {labels: {a: b}}}
status:
  afloat: true
  conditions: [{type: Ready, status: "True", reason: Fine, message: "", lastTransitionTime: "2026-01-02T03:04:05Z"}]
`

func TestStructsDefineTheirKinds(t *testing.T) {
	t.Parallel()
	p := bowlinetest.Start(t, bowlinetest.Types(addBoats, nil))
	applied := p.Apply(t, fullBoat)[0]
	var declared map[string]any
	if err := yaml.Unmarshal([]byte(fullBoat), &declared); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"spec", "status"} {
		want, _ := yaml.Marshal(declared[part])
		if got, _ := yaml.Marshal(applied.Object[part]); string(got) != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", part, got, want)
		}
	}
	boat, err := bowlinetest.Client[*Boat](t, p).Get(t.Context(), "default", "full")
	if err != nil || boat.Spec.Crew[1].Rank != "mate" || boat.Spec.Cargo["rum"] != resource.MustParse("2Gi") {
		t.Errorf("got %+v, %v", boat, err)
	}
}

func TestStructsAreSchemas(t *testing.T) {
	t.Parallel()
	p := bowlinetest.Start(t, bowlinetest.Types(addBoats, nil))
	create := func(t *testing.T, spec string) error {
		var content map[string]any
		if err := yaml.Unmarshal([]byte(spec), &content); err != nil {
			t.Fatal(err)
		}
		boat := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Boat",
			"spec": content}}
		boat.SetName("b")
		boat.SetNamespace("default")
		_, err := unstructuredBoats(t, p).Create(t.Context(), boat,
			metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		return err
	}
	for spec, want := range map[string]string{
		`{}`:                               "spec.sails: Required value",
		`{sails: two}`:                     "spec.sails: Invalid value",
		`{sails: 3000000000}`:              "type integer with format int32 in spec.sails",
		`{sails: 1, crew: [{rank: mate}]}`: "spec.crew[0].name: Required value",
		`{sails: 1, crew: Ann}`:            "spec.crew: Invalid value",
		`{sails: 1, flags: {de: 1}}`:       "spec.flags.de: Invalid value",
		`{sails: 1, berth: true}`:          "spec.berth: Invalid value",
		`{sails: 1, launched: yesterday}`:  "spec.launched: Invalid value",
		`{sails: 1, cargo: {rum: [1]}}`:    "spec.cargo.rum: Invalid value",
		`{sails: 1, sail: 2}`:              `unknown field "spec.sail"`,
	} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			if err := create(t, spec); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("want %q, got %v", want, err)
			}
		})
	}
}

func unstructuredBoats(t testing.TB, p *bowlinetest.Plane) client.Resource[*unstructured.Unstructured] {
	t.Helper()
	c, err := client.New(p.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return client.Of[*unstructured.Unstructured](c, boats.WithResource("boats"))
}

// TestTypeDefinitionsAreCorrected checks that the change function can adjust a definition.
func TestTypeDefinitionsAreCorrected(t *testing.T) {
	t.Parallel()
	p := bowlinetest.Start(t, bowlinetest.Types(addBoats, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Scope = apiextensionsv1.ClusterScoped
		crd.Spec.Versions[0].Subresources = nil
	}))
	boat := &Boat{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: BoatSpec{Sails: 1}, Status: BoatStatus{Afloat: true}}
	made, err := bowlinetest.Client[*Boat](t, p).Create(t.Context(), boat, metav1.CreateOptions{})
	if err != nil || made.Namespace != "" || !made.Status.Afloat {
		t.Errorf("got %+v, %v", made, err)
	}
}

// TestNewestVersionIsStored checks the order of versions, which is that of apimachinery.
func TestNewestVersionIsStored(t *testing.T) {
	t.Parallel()
	crd := bowlinetest.DefinitionOf("example.com", "Boat", map[string]reflect.Type{
		"v1beta2": reflect.TypeFor[Boat](), "v1": reflect.TypeFor[Boat](), "v1alpha1": reflect.TypeFor[Boat](),
	})
	var versions []string
	for _, v := range crd.Spec.Versions {
		versions = append(versions, fmt.Sprint(v.Name, " ", v.Served, " ", v.Storage))
	}
	if want := []string{"v1 true true", "v1beta2 true false", "v1alpha1 true false"}; !slices.Equal(versions, want) {
		t.Errorf("got %q, want %q", versions, want)
	}
}

// TestFileDefinitionOverridesType checks that a type with a definition in a file gets no other
// definition.
func TestFileDefinitionOverridesType(t *testing.T) {
	t.Parallel()
	p := bowlinetest.Start(t, bowlinetest.Types(addBoats, nil), bowlinetest.CRDs("testdata/boats.yaml"))
	boats := bowlinetest.Client[*Boat](t, p)
	small := &Boat{ObjectMeta: metav1.ObjectMeta{Name: "small", Namespace: "default"}, Spec: BoatSpec{Sails: 1}}
	if _, err := boats.Create(t.Context(), small, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	large := &Boat{ObjectMeta: metav1.ObjectMeta{Name: "large", Namespace: "default"}, Spec: BoatSpec{Sails: 4}}
	if _, err := boats.Create(t.Context(), large, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("got %v for more sails than the file allows", err)
	}
}

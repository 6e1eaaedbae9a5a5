package builtin_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/deprecation"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/object"
)

// gvr parses GROUP/VERSION/RESOURCE, or VERSION/RESOURCE of the core group.
func gvr(t *testing.T, text string) schema.GroupVersionResource {
	t.Helper()
	parts := strings.Split(text, "/")
	if len(parts) == 2 {
		parts = append([]string{""}, parts...)
	}
	if len(parts) != 3 {
		t.Fatalf("invalid resource %q", text)
	}
	return schema.GroupVersionResource{Group: parts[0], Version: parts[1], Resource: parts[2]}
}

func TestAPIsServe(t *testing.T) {
	t.Parallel()
	const hpaV1, hpaV2 = "autoscaling/v1/horizontalpodautoscalers", "autoscaling/v2/horizontalpodautoscalers"
	const claims, oldClaims = "resource.k8s.io/v1/resourceclaims", "resource.k8s.io/v1beta1/resourceclaims"
	const candidates = "coordination.k8s.io/v1beta1/leasecandidates"
	const oldBudgets, budgets = "policy/v1beta1/poddisruptionbudgets", "policy/v1/poddisruptionbudgets"
	for list, want := range map[string]struct{ on, off []string }{
		"":                     {on: []string{hpaV1, hpaV2, oldBudgets, "v1/pods"}},
		",":                    {on: []string{hpaV1}},
		"autoscaling/v1=false": {on: []string{hpaV2}, off: []string{hpaV1}},
		"autoscaling/v1=0":     {off: []string{hpaV1}},
		" autoscaling/v1 = false , policy/v1beta1=false": {on: []string{hpaV2, budgets}, off: []string{hpaV1, oldBudgets}},
		"autoscaling/v1":                      {on: []string{hpaV1}},
		"autoscaling/v1=":                     {on: []string{hpaV1}},
		"autoscaling/v1=false,autoscaling/v1": {on: []string{hpaV1}},
		"api/beta=false": {on: []string{hpaV1, budgets, "v1/pods", "batch/v2alpha1/cronjobs"},
			off: []string{oldBudgets, "apps/v1beta2/deployments", "extensions/v1beta1/ingresses"}},
		"api/alpha=false": {on: []string{oldBudgets}, off: []string{"batch/v2alpha1/cronjobs"}},
		"api/ga=false,v1=true": {on: []string{oldBudgets, "v1/pods", "batch/v2alpha1/cronjobs"},
			off: []string{budgets, "apps/v1/deployments"}},
		"api/beta=true,api/all=false,v1=true": {on: []string{oldBudgets, "v1/pods"}, off: []string{budgets, hpaV1}},
		"policy/v1beta1=true,api/beta=false":  {on: []string{oldBudgets}, off: []string{"apps/v1beta2/deployments"}},
		"v1/podtemplates=false":               {on: []string{"v1/pods"}, off: []string{"v1/podtemplates"}},
		"/v1/podtemplates=false":              {on: []string{"v1/pods"}, off: []string{"v1/podtemplates"}},
		"api/v1/podtemplates=false":           {on: []string{"v1/pods"}, off: []string{"v1/podtemplates"}},
		"api/v1=false":                        {off: []string{"v1/pods"}},
		"api/legacy=false":                    {on: []string{"v1/pods"}},
		"apps/v1=false,apps/v1/deployments=true": {on: []string{"apps/v1/deployments"},
			off: []string{"apps/v1/statefulsets"}},
		"apps/v1/deployments=false,apps/v1=true": {on: []string{"apps/v1/statefulsets"},
			off: []string{"apps/v1/deployments"}},
		"resource.k8s.io/v1beta1=false":        {on: []string{claims}, off: []string{oldClaims, "resource.k8s.io/v1beta2/resourceclaims"}},
		"resource.k8s.io/v1beta1":              {on: []string{claims, oldClaims}, off: []string{"resource.k8s.io/v1beta2/resourceclaims"}},
		"api/beta=true":                        {on: []string{claims, oldClaims, candidates}, off: []string{"coordination.k8s.io/v1alpha2/leasecandidates"}},
		"api/all=true":                         {on: []string{candidates, "coordination.k8s.io/v1alpha2/leasecandidates"}},
		oldClaims + "=true":                    {on: []string{oldClaims}, off: []string{"resource.k8s.io/v1beta1/deviceclasses"}},
		"admissionregistration.k8s.io/v1beta1": {on: []string{"admissionregistration.k8s.io/v1beta1/mutatingadmissionpolicies"}},
		"v1/events=false":                      {on: []string{"events.k8s.io/v1/events"}, off: []string{"v1/events"}},
	} {
		apis, err := builtin.ParseAPIs(strings.Split(list, ","))
		if err != nil {
			t.Errorf("%q: %v", list, err)
			continue
		}
		registry := kind.NewRegistry(apis.Kinds(object.NewCache(0))...)
		for _, on := range []bool{true, false} {
			resources := want.on
			if !on {
				resources = want.off
			}
			for _, resource := range resources {
				_, found := registry.Find(gvr(t, resource))
				optional := slices.Contains(builtin.OptionalResources(), resource)
				if found != on || !optional && apis.Serves(gvr(t, resource)) != on {
					t.Errorf("%q: %s is served: %t, want %t", list, resource, found, on)
				}
				if group := gvr(t, resource).Group; group == "policy" || group == "autoscaling" {
					if _, stored := registry.Stored(gvr(t, resource).GroupResource()); !stored {
						t.Errorf("%q: objects of %s cannot be read", list, resource)
					}
				}
			}
		}
	}
}

// TestOptionalResources checks that the versions that Kubernetes 1.37 disables by default are off, and that their
// warnings are Kubernetes'.
func TestOptionalResources(t *testing.T) {
	t.Parallel()
	want := []string{
		"admissionregistration.k8s.io/v1beta1/mutatingadmissionpolicies",
		"admissionregistration.k8s.io/v1beta1/mutatingadmissionpolicybindings",
		"certificates.k8s.io/v1beta1/clustertrustbundles",
		"coordination.k8s.io/v1alpha2/leasecandidates",
		"coordination.k8s.io/v1beta1/leasecandidates",
		"resource.k8s.io/v1beta1/deviceclasses",
		"resource.k8s.io/v1beta1/resourceclaims",
		"resource.k8s.io/v1beta1/resourceclaimtemplates",
		"resource.k8s.io/v1beta1/resourceslices",
		"resource.k8s.io/v1beta2/deviceclasses",
		"resource.k8s.io/v1beta2/devicetaintrules",
		"resource.k8s.io/v1beta2/resourceclaims",
		"resource.k8s.io/v1beta2/resourceclaimtemplates",
		"resource.k8s.io/v1beta2/resourceslices",
		"storagemigration.k8s.io/v1beta1/storageversionmigrations",
	}
	if got := builtin.OptionalResources(); !slices.Equal(got, want) {
		t.Errorf("off by default are %v, want %v", got, want)
	}
	for _, k := range builtin.Kinds(object.NewCache(0)) {
		for _, e := range k.Info().Endpoints {
			if !e.Unserved {
				continue
			}
			gvk := e.GroupVersion().WithKind(k.Info().Kind)
			obj, err := scheme.Scheme.New(gvk)
			if err != nil {
				t.Fatal(err)
			}
			obj.GetObjectKind().SetGroupVersionKind(gvk)
			warning := ""
			if deprecation.IsDeprecated(obj, 1, 37) {
				warning = deprecation.WarningMessage(obj)
			}
			if e.Deprecated != warning {
				t.Errorf("the warning of %v is %q, want %q", gvk, e.Deprecated, warning)
			}
		}
	}
}

func TestInvalidAPIs(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		"boats.example/v1=false,a/v2=true,policy/v1=false": "unknown api groups a/v2,boats.example/v1: known are " +
			"admissionregistration.k8s.io/v1, ",
		"policy/v2=false":               "unknown api version policy/v2: the group has policy/v1, policy/v1beta1",
		"v2=false":                      `invalid key "v2": must be GROUP/VERSION, `,
		"/v2=false":                     "unknown api version v2: the group has v1",
		"v1/boats=false":                `unknown resource "boats" of v1: it has bindings, componentstatuses, configmaps, `,
		"apps/v1/Deployments=false":     `unknown resource "Deployments" of apps/v1: it has controllerrevisions, `,
		"apps/v1/deployments/scale":     `invalid key "apps/v1/deployments/scale"`,
		"apps=false":                    `invalid key "apps"`,
		"apps/=false":                   `invalid key "apps/"`,
		"=false":                        `invalid key ""`,
		"api/gamma=false":               "unknown api groups api/gamma: known are ",
		"api/all":                       "invalid value api/all=: must be true or false",
		"api/beta=0":                    "invalid value api/beta=0: must be true or false",
		"apps/v1=off":                   "invalid value apps/v1=off: must be true or false",
		"apps/v1=false=true":            "invalid value apps/v1=false=true: must be true or false",
		strings.Repeat("a", 300) + "/b": "unknown api groups a",
	} {
		if _, err := builtin.ParseAPIs(strings.Split(list, ",")); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got error %v, want %s", list, err, want)
		}
	}
}

func TestUnknownAPIErrorTellsOnFromOff(t *testing.T) {
	t.Parallel()
	for list, on := range map[string]bool{
		"a/v1=false": false, "a/v1": true, "policy/v9=false,policy/v8": true, "v1/boats=false": false, "v1/boats=true": true,
	} {
		_, err := builtin.ParseAPIs(strings.Split(list, ","))
		var unknown *builtin.UnknownAPIError
		if !errors.As(err, &unknown) || unknown.On != on {
			t.Errorf("%q: got error %v, want an UnknownAPIError with On %t", list, err, on)
		}
	}
}

func TestCheckAPIs(t *testing.T) {
	t.Parallel()
	needs := map[string][]schema.GroupVersionResource{
		"scheduler":  {gvr(t, "v1/pods"), gvr(t, "policy/v1/poddisruptionbudgets")},
		"disruption": {gvr(t, "apps/v1/deployments"), gvr(t, "policy/v1/poddisruptionbudgets")},
	}
	const namespaces = "v1/namespaces cannot be turned off, because every namespaced object needs one"
	const definitions = "apiextensions.k8s.io/v1/customresourcedefinitions cannot be turned off, because they define"
	for list, want := range map[string]string{
		"api/beta=false":                   "",
		"apiextensions.k8s.io/v1beta1=0":   "",
		"batch/v1=false":                   "",
		"v1=false":                         namespaces,
		"api/all=false":                    namespaces,
		"v1/namespaces=false":              namespaces,
		"v1=false,v1/namespaces=true":      "APIs that are needed are turned off: scheduler needs v1/pods; add v1/pods=true",
		"api/ga=false,v1=true":             definitions,
		"apiextensions.k8s.io/v1=false":    definitions,
		"policy/v1=false,policy/v1beta1=1": "APIs that are needed are turned off: disruption needs policy/v1/poddisruptionbudgets, scheduler needs policy/v1/poddisruptionbudgets; add policy/v1/poddisruptionbudgets=true, or do not use what needs them",
		"policy/v1=0,apps/v1=0": "APIs that are needed are turned off: disruption needs apps/v1/deployments and policy/v1/poddisruptionbudgets, scheduler needs policy/v1/poddisruptionbudgets; " +
			"add apps/v1/deployments=true,policy/v1/poddisruptionbudgets=true, or do not use what needs them",
	} {
		apis, err := builtin.ParseAPIs(strings.Split(list, ","))
		if err != nil {
			t.Errorf("%q: %v", list, err)
			continue
		}
		err = apis.Check(needs)
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%q: got error %v, want %q", list, err, want)
		}
	}
}

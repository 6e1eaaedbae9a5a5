package kubectl_test

import (
	"strings"
	"testing"
	"testing/fstest"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/discovery"
	oldexplain "k8s.io/kubectl/pkg/explain"
	explain "k8s.io/kubectl/pkg/explain/v2"
	"k8s.io/kubectl/pkg/util/openapi"

	"github.com/bowline-dev/bowline/bowlinetest"
)

const networks = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: networks.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Network, plural: networks}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        description: A Network is a range of addresses.
        properties:
          spec:
            type: object
            required: [cidr]
            properties:
              cidr: {type: string, description: The range in CIDR notation.}
              template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
`

// discoveryClient starts a plane that has a custom resource, and returns a client of its documents.
func discoveryClient(t *testing.T) *discovery.DiscoveryClient {
	t.Helper()
	definitions := fstest.MapFS{"networks.yaml": {Data: []byte(networks)}}
	p := bowlinetest.Start(t, bowlinetest.CRDsIn(definitions, "networks.yaml"))
	return discovery.NewDiscoveryClientForConfigOrDie(p.RESTConfig())
}

func TestKubectlExplainsFields(t *testing.T) {
	t.Parallel()
	client := discoveryClient(t).OpenAPIV3()
	for _, c := range []struct {
		gvr  schema.GroupVersionResource
		path []string
		want []string
	}{
		{corev1.SchemeGroupVersion.WithResource("pods"), []string{"spec", "containers"},
			[]string{"KIND:       Pod", "FIELD: containers <[]Container>", "List of containers belonging to the pod.",
				"imagePullPolicy", "-required-"}},
		{appsv1.SchemeGroupVersion.WithResource("deployments"), []string{"spec", "strategy", "rollingUpdate"},
			[]string{"GROUP:      apps", "maxSurge"}},
		{schema.GroupVersionResource{Group: "apps", Version: "v1beta2", Resource: "deployments"}, []string{"spec"},
			[]string{"VERSION:    v1beta2", "replicas"}},
		{schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "networks"}, nil,
			[]string{"GROUP:      example.com", "A Network is a range of addresses.",
				"metadata\t<ObjectMeta>\n    Standard object's metadata."}},
		{schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "networks"},
			[]string{"spec", "cidr"},
			[]string{"The range in CIDR notation."}},
	} {
		var out strings.Builder
		if err := explain.PrintModelDescription(c.path, &out, client, c.gvr, false, 0, "plaintext"); err != nil {
			t.Errorf("%s %v: %v", c.gvr, c.path, err)
		}
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s %v: output lacks %q:\n%s", c.gvr, c.path, want, out.String())
			}
		}
	}
}

func TestOldKubectlExplainsFields(t *testing.T) {
	t.Parallel()
	document, err := discoveryClient(t).OpenAPISchema()
	if err != nil {
		t.Fatal(err)
	}
	resources, err := openapi.NewOpenAPIData(document)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		gvk  schema.GroupVersionKind
		path []string
		want []string
	}{
		{corev1.SchemeGroupVersion.WithKind("Pod"), []string{"spec", "containers"},
			[]string{"RESOURCE: containers <[]Object>", "List of containers belonging to the pod.", "imagePullPolicy"}},
		{appsv1.SchemeGroupVersion.WithKind("Deployment"), []string{"spec", "strategy", "rollingUpdate"},
			[]string{"maxSurge\t<string>"}},
		{schema.GroupVersionKind{Group: "apps", Version: "v1beta2", Kind: "Deployment"}, []string{"spec"},
			[]string{"VERSION:  apps/v1beta2", "replicas"}},
		{schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Network"}, []string{"spec"},
			[]string{"cidr\t<string> -required-", "The range in CIDR notation.", "template\t<>"}},
	} {
		s := resources.LookupResource(c.gvk)
		if s == nil {
			t.Errorf("%s: got no schema, want one", c.gvk)
			continue
		}
		var out strings.Builder
		if err := oldexplain.PrintModelDescription(c.path, &out, s, c.gvk, false, 0); err != nil {
			t.Errorf("%s %v: %v", c.gvk, c.path, err)
		}
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s %v: output lacks %q:\n%s", c.gvk, c.path, want, out.String())
			}
		}
	}
}

func TestClientsFindFieldValidation(t *testing.T) {
	t.Parallel()
	client := discoveryClient(t).OpenAPIV3()
	verifier := resource.NewQueryParamVerifierV3(nil, client, resource.QueryParamFieldValidation)
	for _, gvk := range []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("Pod"), corev1.SchemeGroupVersion.WithKind("Namespace"),
		eventsv1.SchemeGroupVersion.WithKind("Event"), appsv1.SchemeGroupVersion.WithKind("Deployment"),
		{Group: "example.com", Version: "v1", Kind: "Network"},
	} {
		if err := verifier.HasSupport(gvk); err != nil {
			t.Error(err)
		}
	}
}

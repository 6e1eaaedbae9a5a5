package bowline_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/internal/auth/pki"
)

// optional are resources that are off by default, each with the version that is on, which is empty for a kind that is
// only served in these; an object; and the part of its spec that a read in hub shows.
var optional = []struct{ version, resource, hub, namespace, object, want string }{
	{"resource.k8s.io/v1beta1", "deviceclasses", "v1", "",
		`{"kind":"DeviceClass","metadata":{"name":"a"},"spec":{"selectors":[{"cel":{"expression":"true"}}]}}`,
		`{"selectors":[{"cel":{"expression":"true"}}]}`},
	{"resource.k8s.io/v1beta1", "resourceclaims", "v1", "default",
		`{"kind":"ResourceClaim","metadata":{"name":"a"},"spec":{"devices":{"requests":[
			{"name":"r","deviceClassName":"gpu","tolerations":[{"operator":"Exists"}]},
			{"name":"s","firstAvailable":[{"name":"t","deviceClassName":"gpu"}]}],
			"config":[{"opaque":{"driver":"d.example","parameters":{"a":"<b>"}}}]}}}`,
		`{"devices":{"requests":[
			{"name":"r","exactly":{"deviceClassName":"gpu","allocationMode":"ExactCount","count":1,
				"tolerations":[{"operator":"Exists"}]}},
			{"name":"s","firstAvailable":[{"name":"t","deviceClassName":"gpu","allocationMode":"ExactCount","count":1}]}],
			"config":[{"opaque":{"driver":"d.example","parameters":{"a":"<b>"}}}]}}`},
	{"resource.k8s.io/v1beta1", "resourceclaimtemplates", "v1", "default",
		`{"kind":"ResourceClaimTemplate","metadata":{"name":"a"},"spec":{"metadata":{"labels":{"a":"b"}},
			"spec":{"devices":{"requests":[{"name":"r","deviceClassName":"gpu","allocationMode":"All"}]}}}}`,
		`{"metadata":{"labels":{"a":"b"}},
			"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu","allocationMode":"All"}}]}}}`},
	{"resource.k8s.io/v1beta1", "resourceslices", "v1", "",
		`{"kind":"ResourceSlice","metadata":{"name":"a"},"spec":{"driver":"d.example","pool":{"name":"p",
			"resourceSliceCount":1},"nodeName":"n","devices":[{"name":"gpu","basic":{"attributes":{"model":{"string":"x"}},
			"capacity":{"memory":{"value":"1Gi"}}}}]}}`,
		`{"driver":"d.example","pool":{"name":"p","generation":0,"resourceSliceCount":1},"nodeName":"n","devices":[
			{"name":"gpu","attributes":{"model":{"string":"x"}},"capacity":{"memory":{"value":"1Gi"}}}]}`},
	{"resource.k8s.io/v1beta2", "devicetaintrules", "v1", "",
		`{"kind":"DeviceTaintRule","metadata":{"name":"a"},"spec":{"taint":{"key":"k","effect":"NoExecute",
			"timeAdded":"2000-01-01T00:00:00Z"}}}`,
		`{"taint":{"key":"k","effect":"NoExecute","timeAdded":"2000-01-01T00:00:00Z"}}`},
	{"resource.k8s.io/v1beta2", "resourceclaims", "v1", "default",
		`{"kind":"ResourceClaim","metadata":{"name":"a"},"spec":{"devices":{"requests":[
			{"name":"r","exactly":{"deviceClassName":"gpu"}}]}}}`,
		`{"devices":{"requests":[
			{"name":"r","exactly":{"deviceClassName":"gpu","allocationMode":"ExactCount","count":1}}]}}`},
	{"certificates.k8s.io/v1beta1", "clustertrustbundles", "v1", "",
		`{"kind":"ClusterTrustBundle","metadata":{"name":"a"},"spec":{"trustBundle":` + authorityText + `}}`,
		`{"trustBundle":` + authorityText + `}`},
	{"coordination.k8s.io/v1beta1", "leasecandidates", "", "default", candidate, candidateSpec},
	{"coordination.k8s.io/v1alpha2", "leasecandidates", "", "default", candidate, candidateSpec},
	{"storagemigration.k8s.io/v1beta1", "storageversionmigrations", "v1", "",
		`{"kind":"StorageVersionMigration","metadata":{"name":"a"},"spec":{"resource":{"group":"apps","resource":"deployments"}}}`,
		`{"resource":{"group":"apps","resource":"deployments"}}`},
	{"admissionregistration.k8s.io/v1beta1", "mutatingadmissionpolicies", "v1", "",
		`{"kind":"MutatingAdmissionPolicy","metadata":{"name":"a"},"spec":{"reinvocationPolicy":"Never","matchConstraints":{
			"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["secrets"]}]},
			"mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"` + patchExpression + `"}}]}}`,
		`{"reinvocationPolicy":"Never","failurePolicy":"Fail","matchConstraints":{"matchPolicy":"Equivalent",
			"namespaceSelector":{},"objectSelector":{},"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],
			"operations":["CREATE"],"resources":["secrets"],"scope":"*"}]},
			"mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"` + patchExpression + `"}}]}`},
	{"admissionregistration.k8s.io/v1beta1", "mutatingadmissionpolicybindings", "v1", "",
		`{"kind":"MutatingAdmissionPolicyBinding","metadata":{"name":"a"},"spec":{"policyName":"p"}}`,
		`{"policyName":"p"}`},
}

const (
	candidate     = `{"kind":"LeaseCandidate","metadata":{"name":"a"},"spec":` + candidateSpec + `}`
	candidateSpec = `{"leaseName":"l","binaryVersion":"1.37.2","emulationVersion":"1.37.0","strategy":"OldestEmulationVersion"}`
)

// patchExpression is an expression in JSON.
const patchExpression = `[JSONPatch{op: \"remove\", path: \"/metadata/labels\"}]`

// authorityText is the JSON string of a CA certificate.
const authorityText = "AUTHORITY"

// TestOptionalVersions turns each version on that is off by default, and checks that its objects can be created, read
// in the other version and in protobuf, applied, updated and deleted, and read by a server that has the version off.
func TestOptionalVersions(t *testing.T) {
	t.Parallel()
	proxy, err := pki.NewFrontProxy()
	if err != nil {
		t.Fatal(err)
	}
	authority, err := json.Marshal(string(proxy.AuthorityPEM()))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range optional {
		t.Run(strings.ReplaceAll(c.version, "/", "_")+"_"+c.resource, func(t *testing.T) {
			t.Parallel()
			c.object = strings.ReplaceAll(c.object, authorityText, string(authority))
			c.want = strings.ReplaceAll(c.want, authorityText, string(authority))
			synctest.Test(t, func(t *testing.T) {
				plane, err := bowline.Start(t.Context(), bowline.Options{API: []string{c.version + "=true"},
					Controllers: []string{bowline.NoControllers}})
				if err != nil {
					t.Fatal(err)
				}
				defer plane.Close()
				gv, _ := schema.ParseGroupVersion(c.version)
				path := func(version string) string {
					if version == "" {
						version = gv.Version
					}
					if c.namespace != "" {
						return "/apis/" + gv.Group + "/" + version + "/namespaces/" + c.namespace + "/" + c.resource
					}
					return "/apis/" + gv.Group + "/" + version + "/" + c.resource
				}
				var sent map[string]any
				if err := json.Unmarshal([]byte(c.object), &sent); err != nil {
					t.Fatal(err)
				}
				sent["apiVersion"] = c.version
				body, _ := json.Marshal(sent) // always succeeds
				created := ask(t, plane, "POST", path(""), "application/json", string(body), http.StatusCreated)
				if created["apiVersion"] != c.version || created["kind"] != sent["kind"] {
					t.Errorf("created %v", created)
				}
				var want any
				if err := json.Unmarshal([]byte(c.want), &want); err != nil {
					t.Fatal(err)
				}
				read := ask(t, plane, "GET", path(c.hub)+"/a", "", "", http.StatusOK)
				if diff := cmp.Diff(want, read["spec"]); diff != "" {
					t.Errorf("the other version (-want +got):\n%s", diff)
				}
				readProtobuf(t, plane, path("")+"/a", created)

				ask(t, plane, "PATCH", path("")+"/a?fieldManager=m&force=true", "application/apply-patch+yaml", string(body), http.StatusOK)
				ask(t, plane, "PATCH", path("")+"/a", "application/merge-patch+json", `{"metadata":{"labels":{"k":"v"}}}`,
					http.StatusOK)
				latest := ask(t, plane, "GET", path("")+"/a", "", "", http.StatusOK)
				changed, _ := json.Marshal(latest) // always succeeds
				ask(t, plane, "PUT", path("")+"/a", "application/json", string(changed), http.StatusOK)
				listed := ask(t, plane, "GET", path("")+"?labelSelector=k%3Dv", "", "", http.StatusOK)
				if items, _ := listed["items"].([]any); len(items) != 1 {
					t.Errorf("listed %v", listed)
				}

				off, err := plane.Fork(t.Context(), func(o *bowline.Options) { o.API = nil })
				if err != nil {
					t.Fatal(err)
				}
				defer off.Close()
				ask(t, off, "GET", path("")+"/a", "", "", http.StatusNotFound)
				if c.hub != "" {
					read := ask(t, off, "GET", path(c.hub)+"/a", "", "", http.StatusOK)
					if diff := cmp.Diff(want, read["spec"]); diff != "" {
						t.Errorf("with the version off (-want +got):\n%s", diff)
					}
				}
				ask(t, plane, "DELETE", path("")+"/a", "", "", http.StatusOK)
				ask(t, plane, "GET", path(c.hub)+"/a", "", "", http.StatusNotFound)
			})
		})
	}
}

// ask sends a request, checks the status code, and returns the body.
func ask(t *testing.T, plane *bowline.Plane, method, path, contentType, body string, code int) map[string]any {
	t.Helper()
	data, got := exchange(t, plane, method, path, "application/json", contentType, body)
	if got != code {
		t.Fatalf("%s %s answered %d: %s", method, path, got, data)
	}
	var answer map[string]any
	if err := json.Unmarshal(data, &answer); err != nil && code != http.StatusNotFound { // an unknown path has a text
		t.Fatal(err)
	}
	return answer
}

func exchange(t *testing.T, plane *bowline.Plane, method, path, accept, contentType, body string) ([]byte, int) {
	t.Helper()
	config := plane.RESTConfig()
	req, err := http.NewRequestWithContext(t.Context(), method, config.Host+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := config.Transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return data, resp.StatusCode
}

// readProtobuf checks that client-go decodes an object from protobuf as from JSON.
func readProtobuf(t *testing.T, plane *bowline.Plane, path string, want map[string]any) {
	t.Helper()
	data, _ := exchange(t, plane, "GET", path, "application/vnd.kubernetes.protobuf", "", "")
	obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(encoded, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want["spec"], got["spec"]); diff != "" {
		t.Errorf("in protobuf (-json +protobuf):\n%s", diff)
	}
}

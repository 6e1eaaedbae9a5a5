package apiregistration

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

func read(t *testing.T, k kind.Kind, body string) *apiregistrationv1.APIService {
	t.Helper()
	obj, strict, err := k.DecodeRequest(object.Form{APIVersion: "apiregistration.k8s.io/v1"}, []byte(body), false)
	if err != nil || len(strict) > 0 {
		t.Fatal(body, err, strict)
	}
	return obj.(*apiregistrationv1.APIService)
}

// TestRules checks the rules of ValidateAPIService and ValidateAPIServiceStatus of k8s.io/kube-aggregator.
func TestRules(t *testing.T) {
	t.Parallel()
	const good = `"group":"a.b","version":"v1","groupPriorityMinimum":1,"versionPriority":1`
	for name, c := range map[string]struct {
		name, spec string
		want       []string
	}{
		"local":  {name: "v1.a.b", spec: good},
		"remote": {name: "v1.a.b", spec: good + `,"service":{"namespace":"n","name":"s"},"caBundle":"YQ=="`},
		"core":   {name: "v1.", spec: `"version":"v1","groupPriorityMinimum":20000,"versionPriority":1000`},
		"another name": {name: "v2.a.b", spec: good, want: []string{
			"metadata.name: Invalid value: \"v2.a.b\": must be `spec.version+\".\"+spec.group`: \"v1.a.b\""}},
		"no name": {spec: good}, // the server reports it
		"core in another version": {name: "v2.", spec: `"version":"v2","groupPriorityMinimum":1,"versionPriority":1`,
			want: []string{"spec.group: Required value: only v1 may have an empty group and it better be legacy kube"}},
		"priorities": {name: "v1.a.b", spec: `"group":"a.b","version":"v1","groupPriorityMinimum":20001`, want: []string{
			"spec.groupPriorityMinimum: Invalid value: 20001: must be positive and less than 20000",
			"spec.versionPriority: Invalid value: 0: must be positive and less than 1000"}},
		"local with certificates": {name: "v1.a.b", spec: good + `,"caBundle":"YWI=","insecureSkipTLSVerify":true`,
			want: []string{
				`spec.caBundle: Invalid value: "2 bytes": local APIServices may not have a caBundle`,
				"spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify"}},
		"an incomplete service": {name: "v1.a.b", spec: good + `,"service":{"port":0}`, want: []string{
			"spec.service.namespace: Required value", "spec.service.name: Required value",
			"spec.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive"}},
		"certificates that are not verified": {name: "v1.a.b", spec: good +
			`,"service":{"namespace":"n","name":"s"},"caBundle":"YQ==","insecureSkipTLSVerify":true`, want: []string{
			"spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := serviceKind(object.NewCache(1))
			s := read(t, k, `{"metadata":{"name":"`+c.name+`"},"spec":{`+c.spec+`}}`)
			var got []string
			for _, e := range k.Validate(t.Context(), s, nil, "") {
				got = append(got, e.Error())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
	k := serviceKind(object.NewCache(1))
	s := read(t, k, `{"status":{"conditions":[{"type":"Available","status":"Perhaps"}]}}`)
	errs := k.Validate(t.Context(), s, s, "status")
	if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(),
		`status.conditions[0].status: Unsupported value: "Perhaps": supported values: "True", "False", "Unknown"`) {
		t.Errorf("a status: %v", errs)
	}
}

// TestPrepare checks what the server sets: the port, and that its own group versions are available.
func TestPrepare(t *testing.T) {
	t.Parallel()
	k := serviceKind(object.NewCache(1))
	local, remote := read(t, k, `{"spec":{}}`), read(t, k, `{"spec":{"service":{"name":"s"}}}`)
	k.Prepare(local, nil, "")
	k.Prepare(remote, nil, "")
	if c := local.Status.Conditions; len(c) != 1 || c[0].Reason != "Local" || c[0].Status != "True" {
		t.Errorf("local: %+v", c)
	}
	if len(remote.Status.Conditions) != 0 || *remote.Spec.Service.Port != 443 {
		t.Errorf("remote: %+v %+v", remote.Status, remote.Spec.Service)
	}
	// A write of the status changes no metadata.
	next := read(t, k, `{"metadata":{"labels":{"a":"b"},"finalizers":["x/y"]}}`)
	k.Prepare(next, remote, "status")
	if next.Labels != nil || next.Finalizers != nil {
		t.Errorf("metadata: %+v", next.ObjectMeta)
	}
}

func TestRow(t *testing.T) {
	t.Parallel()
	k := serviceKind(object.NewCache(1))
	for body, want := range map[string][]any{
		`{"metadata":{"name":"v1."}}`: {"v1.", "Local", "Unknown"},
		`{"spec":{"service":{"namespace":"n","name":"s"}},"status":{"conditions":[
			{"type":"Available","status":"False","reason":"ServiceNotFound"}]}}`: {"", "n/s", "False (ServiceNotFound)"},
		`{"status":{"conditions":[{"type":"Available","status":"True","reason":"Passed"}]}}`: {"", "Local", "True"},
	} {
		row, err := k.Row(read(t, k, body), "apiregistration.k8s.io/v1", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, row[:3]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
}

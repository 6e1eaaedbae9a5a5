package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Every workload has the same Scale in all its versions, so clients that scale need to know no other kind.
func TestScaleInEveryVersion(t *testing.T) {
	t.Parallel()
	w := start(t)
	const (
		pods      = `"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"a"}]}}`
		unlabeled = `"selector":{"a":"b"},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"a"}]}}`
	)
	apps := []string{"/apis/apps/v1", "/apis/apps/v1beta2", "/apis/apps/v1beta1", "/apis/extensions/v1beta1"}
	for _, c := range []struct {
		resource, spec string
		groups         []string // the first one creates the object
	}{
		{"deployments", pods, apps},
		{"replicasets", pods, []string{apps[0], apps[1], apps[3]}},
		{"statefulsets", `"serviceName":"s",` + pods, apps[:3]},
		{"replicationcontrollers", unlabeled, []string{"/api/v1"}},
	} {
		w.create(t, c.groups[0]+"/namespaces/default/"+c.resource,
			`{"metadata":{"name":"w"},"spec":{"replicas":1,`+c.spec+`}}`)
		for n, group := range c.groups {
			path := group + "/namespaces/default/" + c.resource + "/w"
			scale := w.get(t, path+"/scale").want(t, http.StatusOK).object(t)
			if valueAt(scale, "kind") != "Scale" || valueAt(scale, "apiVersion") != "autoscaling/v1" ||
				valueAt(scale, "status", "selector") != "a=b" {
				t.Errorf("%s: %v", path, scale)
			}
			body := fmt.Sprintf(`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"w","namespace":"default"},"spec":{"replicas":%d}}`, n+5)
			w.send(t, http.MethodPut, path+"/scale", body).want(t, http.StatusOK)
			if got := valueAt(w.get(t, path).object(t), "spec", "replicas"); got != float64(n+5) {
				t.Errorf("%s has %v replicas", path, got)
			}
			w.send(t, http.MethodPatch, path+"/scale", `{"spec":{"replicas":3}}`, "Content-Type",
				mergeType).want(t, http.StatusOK)
			w.send(t, http.MethodPut, path+"/scale", strings.Replace(body, fmt.Sprint(n+5), "-1", 1)).want(t,
				http.StatusUnprocessableEntity)
		}
	}
}

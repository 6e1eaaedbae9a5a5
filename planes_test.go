package bowline_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/sync/errgroup"

	"github.com/bowline-dev/bowline"
)

// exchanges is a list of requests that cover many features of a plane.
var exchanges = []struct{ method, path, body string }{
	{"GET", "/version", ""},
	{"GET", "/api/v1/namespaces", ""},
	{"GET", "/apis", ""},
	{"POST", "/api/v1/namespaces", `{"metadata":{"name":"ns"}}`},
	{"POST", "/api/v1/namespaces/ns/configmaps", `{"metadata":{"name":"a"},"data":{"k":"1"}}`},
	{"POST", "/api/v1/namespaces/ns/configmaps", `{"metadata":{"name":"a"}}`},
	{"PATCH", "/api/v1/namespaces/ns/configmaps/a", `{"data":{"k":"2"}}`},
	{"POST", "/api/v1/namespaces/nowhere/configmaps", `{"metadata":{"name":"a"}}`},
	{"POST", "/api/v1/namespaces/ns/pods",
		`{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`},
	{"POST", "/apis/apps/v1/namespaces/ns/deployments", `{"metadata":{"name":"d"}}`},
	{"POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
		`{"metadata":{"name":"knots.example.com"},"spec":{"group":"example.com",
		"scope":"Namespaced","names":{"kind":"Knot","plural":"knots"},"versions":[{"name":"v1","served":true,"storage":true,
		"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"loops":{"type":"integer","default":1}}}}}}}]}}`},
	{"POST", "/apis/example.com/v1/namespaces/ns/knots",
		`{"apiVersion":"example.com/v1","kind":"Knot","metadata":{"name":"bowline"},"spec":{}}`},
	{"GET", "/apis/example.com/v1/knots", ""},
	{"DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/knots.example.com", ""},
	{"GET", "/apis/example.com/v1/knots", ""},
	{"DELETE", "/api/v1/namespaces/ns/configmaps/a", ""},
	{"GET", "/api/v1/namespaces/ns/configmaps?watch=true&timeoutSeconds=1", ""},
	{"GET", "/nothing", ""},
}

var uids = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// send sends the exchanges to a plane and returns the responses without random parts.
func send(ctx context.Context, plane *bowline.Plane) ([]string, error) {
	config := plane.RESTConfig()
	var answers []string
	for _, s := range exchanges {
		req, err := http.NewRequestWithContext(ctx, s.method, config.Host+s.path, strings.NewReader(s.body))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", "application/json")
		if s.method == http.MethodPatch {
			req.Header.Set("Content-Type", "application/merge-patch+json")
		}
		resp, err := config.Transport.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			return nil, err
		}
		text := uids.ReplaceAllString(string(body), "UID")
		answers = append(answers, fmt.Sprintf("%s %s: %d %s", s.method, s.path, resp.StatusCode, text))
	}
	return answers, nil
}

// TestHundredPlanesAreIndependent starts a hundred planes in one process concurrently and checks that they are
// independent.
func TestHundredPlanesAreIndependent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const planes = 100
		all := make([][]string, planes)
		var group errgroup.Group
		for i := range planes {
			group.Go(func() error {
				plane, err := bowline.Start(t.Context(), bowline.Options{Controllers: []string{bowline.NoControllers}})
				if err != nil {
					return err
				}
				defer plane.Close()
				all[i], err = send(t.Context(), plane)
				return err
			})
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
		for i, answers := range all {
			for n := range answers {
				if answers[n] != all[0][n] {
					t.Fatalf("plane %d answers\n%s\nplane 0\n%s", i, answers[n], all[0][n])
				}
			}
		}
		var list struct{ Items []any }
		last := all[0][12]
		if err := json.Unmarshal([]byte(last[strings.Index(last, "{"):]), &list); err != nil || len(list.Items) != 1 {
			t.Errorf("unexpected journal: %s", last)
		}
	})
}

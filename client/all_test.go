package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/wire"
)

func TestAllReadsAllPages(t *testing.T) {
	t.Parallel()
	c := connected(t)
	maps := client.For[*corev1.ConfigMap](c)
	ctx := t.Context()
	for i := range 10 {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("m-%d", i), Namespace: "default", Labels: map[string]string{"all": "yes"},
		}}
		if _, err := maps.Create(ctx, cm, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	which := metav1.ListOptions{LabelSelector: "all=yes", Limit: 3}
	var names []string
	for obj, err := range maps.All(ctx, "default", which) {
		if err != nil {
			t.Fatal(err)
		}
		if obj.Kind != "" && obj.Kind != "ConfigMap" {
			t.Errorf("got kind %q", obj.Kind)
		}
		names = append(names, obj.Name)
		if len(names) == 1 { // which what was read is not changed by: it is one state
			if err := maps.Delete(ctx, "default", "m-9", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := cmp.Diff([]string{"m-0", "m-1", "m-2", "m-3", "m-4", "m-5", "m-6", "m-7", "m-8", "m-9"},
		names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for range maps.All(ctx, "default", which) {
		break // reads no further page, and leaves nothing behind
	}
}

func TestAllContinuesAfterExpiredToken(t *testing.T) {
	t.Parallel()
	var requests []string
	c := connect(t, func(w http.ResponseWriter, r *http.Request) {
		token := r.URL.Query().Get("continue")
		requests = append(requests, token)
		switch token {
		case "":
			answer(w, 200,
				`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"continue":"old"},"items":[{"metadata":{"name":"a"}}]}`)
		case "old":
			answer(w, 410,
				`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"metadata":{"continue":"new"}}`)
		case "new":
			w.Header().Set("Warning", `299 - "`+wire.IncompleteList+`1 object"`)
			answer(w, 200,
				`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"b"}}]}`)
		}
	})
	var names []string
	var last error
	for obj, err := range client.Of[*corev1.ConfigMap](c, configmaps).All(t.Context(), "", metav1.ListOptions{}) {
		if last = err; err == nil {
			names = append(names, obj.Name)
		}
	}
	if diff := cmp.Diff([]string{"a", "b"}, names); diff != "" || !errors.Is(last, client.ErrIncomplete) {
		t.Errorf("got last value %v; names (-want +got):\n%s", last, diff)
	}
	if diff := cmp.Diff([]string{"", "old", "new"}, requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

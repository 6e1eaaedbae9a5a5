package server_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The pages of a list show the state of the first page, despite writes in between.
func TestPagesShowOneSnapshot(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{jsonType, protobufType} {
		t.Run(contentType, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			var want []string
			for i := range 25 {
				want = append(want, fmt.Sprintf("m-%02d", i))
			}
			w.createConfigMaps(t, "default", want...)
			maps := typed(t, w.config, contentType).CoreV1().ConfigMaps("default")
			var got []string
			var revision string
			options := metav1.ListOptions{Limit: 4}
			for page := 0; ; page++ {
				list := must(maps.List(t.Context(), options))(t)
				for _, cm := range list.Items {
					got = append(got, cm.Name)
				}
				if page == 0 {
					revision = list.ResourceVersion
				}
				if list.ResourceVersion != revision {
					t.Errorf("page %d is of revision %s, the first of %s", page, list.ResourceVersion, revision)
				}
				if left := list.RemainingItemCount; list.Continue != "" &&
					(left == nil || *left != int64(len(want)-len(got))) {
					t.Errorf("page %d: %v items remain, want %d", page, left, len(want)-len(got))
				}
				if list.Continue == "" {
					break
				}
				options.Continue = list.Continue
				w.createConfigMaps(t, "default", fmt.Sprintf("m-%02d-new", page*4+3), fmt.Sprintf("z-%d", page))
				if err := maps.Delete(t.Context(), fmt.Sprintf("m-%02d", 24-page), metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			if a, b := strings.Join(got, " "), strings.Join(want, " "); a != b {
				t.Errorf("paged through %s\nwant %s", a, b)
			}
		})
	}
}

// Pages with a selector have no remainingItemCount, which would require reading all objects.
func TestPageWithSelectorHasNoRemainingItemCount(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.createConfigMaps(t, "default", "a", "b", "c")
	list := w.get(t, configMaps+"?limit=1&labelSelector=%21none").want(t, http.StatusOK).object(t)
	if valueAt(list, "metadata", "continue") == nil || valueAt(list, "metadata", "remainingItemCount") != nil {
		t.Errorf("metadata %v", list["metadata"])
	}
}

// A page that ends within a list of all namespaces continues at the next object, in any namespace.
func TestPagesAcrossNamespaces(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.namespace(t, "other")
	w.createConfigMaps(t, "default", "a", "b")
	w.createConfigMaps(t, "other", "a", "b")
	var got []string
	options := metav1.ListOptions{Limit: 1}
	for {
		list := must(w.clients.CoreV1().ConfigMaps("").List(t.Context(), options))(t)
		for _, cm := range list.Items {
			got = append(got, cm.Namespace+"/"+cm.Name)
		}
		if options.Continue = list.Continue; options.Continue == "" {
			break
		}
	}
	if want := "default/a default/b other/a other/b"; strings.Join(got, " ") != want {
		t.Errorf("paged through %v, want %s", got, want)
	}
}

// A continue token whose revision was compacted is a 410, with a token that continues in the current state.
func TestExpiredContinueTokenIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.createConfigMaps(t, "default", "a", "b", "c")
		maps := w.clients.CoreV1().ConfigMaps("default")
		first := must(maps.List(t.Context(), metav1.ListOptions{Limit: 1}))(t)
		w.createConfigMaps(t, "default", "b-new")
		time.Sleep(time.Hour)
		_, err := maps.List(t.Context(), metav1.ListOptions{Limit: 1, Continue: first.Continue})
		if !apierrors.IsResourceExpired(err) {
			t.Fatalf("an hour later: %v, want expired", err)
		}
		status := err.(apierrors.APIStatus).Status()
		if status.Code != http.StatusGone ||
			!strings.Contains(status.Message, "The provided continue parameter is too old") {
			t.Errorf("answered %+v", status)
		}
		rest := must(maps.List(t.Context(), metav1.ListOptions{Continue: status.ListMeta.Continue}))(t)
		var names []string
		for _, cm := range rest.Items {
			names = append(names, cm.Name)
		}
		if got := strings.Join(names, " "); got != "b b-new c" {
			t.Errorf("the inconsistent rest is %s", got)
		}
	})
}

func TestInvalidContinueTokens(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.createConfigMaps(t, "default", "a", "b")
	token := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	for _, broken := range []string{
		"x", "%%%", token("x"), token(`{"v":"meta.k8s.io/v2","rv":1,"start":"a"}`),
		token(`{"v":"meta.k8s.io/v1","rv":1}`),
		token(`{"v":"meta.k8s.io/v1","rv":1,"start":"../../secrets/default/a"}`),
	} {
		w.get(t, configMaps+"?limit=1&continue="+url.QueryEscape(broken)).wantError(t, http.StatusBadRequest,
			metav1.StatusReasonBadRequest, "continue key is not valid")
	}
	list := w.get(t, configMaps+"?limit=1").want(t, http.StatusOK).object(t)
	next := valueAt(list, "metadata", "continue").(string)
	w.get(t, configMaps+"?resourceVersion=5&continue="+next).wantError(t, http.StatusBadRequest,
		metav1.StatusReasonBadRequest, "not allowed when using continue")
	// a token of one list returns nothing of another
	if got := w.names(t, "/api/v1/namespaces/kube-system/configmaps", "continue", next); got != "" {
		t.Errorf("a token of another namespace lists %q", got)
	}
}

// Lists at an exact revision return the past state, and lists with a minimum revision the current one.
func TestListAtRevision(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.createConfigMaps(t, "default", "a")
	old := must(w.clients.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{}))(t).ResourceVersion
	w.createConfigMaps(t, "default", "b")
	for query, want := range map[string]string{
		"resourceVersion=" + old:                                        "a b",
		"resourceVersion=" + old + "&resourceVersionMatch=Exact":        "a",
		"resourceVersion=" + old + "&resourceVersionMatch=NotOlderThan": "a b",
		"resourceVersion=" + old + "&limit=5":                           "a",
		"resourceVersion=0":                                             "a b",
		"resourceVersion=0&resourceVersionMatch=NotOlderThan":           "a b",
		"": "a b",
	} {
		var list metav1.PartialObjectMetadataList
		w.get(t, configMaps+"?"+query).want(t, http.StatusOK).into(t, &list)
		var names []string
		for _, item := range list.Items {
			names = append(names, item.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q lists %q, want %q", query, got, want)
		}
	}
	w.get(t, configMaps+"?resourceVersionMatch=Exact").wantError(t, http.StatusUnprocessableEntity,
		metav1.StatusReasonInvalid, "resourceVersionMatch")
	w.get(t, configMaps+"?resourceVersion=0&resourceVersionMatch=Exact").wantError(t, http.StatusUnprocessableEntity,
		metav1.StatusReasonInvalid, "resourceVersionMatch")
}

// Invalid and future revisions are rejected wherever a client may name one.
func TestInvalidRevisions(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.createConfigMaps(t, "default", "a")
	const future = "9999999999999999999"
	for _, negative := range []string{"-1", "x", "1.5", "99999999999999999999999"} {
		w.get(t, configMaps+"?resourceVersion="+negative).wantError(t, http.StatusBadRequest,
			metav1.StatusReasonBadRequest, "nvalid")
		for _, path := range []string{"/a?", "?watch=1&"} { // Kubernetes answers these with a 500
			if r := w.get(t, configMaps+path+"resourceVersion="+negative); r.code != http.StatusInternalServerError {
				t.Errorf("%s from %s: %d %s", path, negative, r.code, r.body)
			}
		}
	}
	for _, query := range []string{"resourceVersion=" + future,
		"resourceVersionMatch=Exact&resourceVersion=" + future} {
		s := w.get(t, configMaps+"?timeout=1s&"+query).wantError(t, http.StatusGatewayTimeout,
			metav1.StatusReasonTimeout,
			"Too large resource version")
		if len(s.Details.Causes) != 1 || s.Details.Causes[0].Type != metav1.CauseTypeResourceVersionTooLarge {
			t.Errorf("%s: details %+v", query, s.Details)
		}
	}
	w.get(t, configMaps+"/a?resourceVersion="+future).wantError(t, http.StatusGatewayTimeout,
		metav1.StatusReasonTimeout,
		"Too large resource version")
	for _, body := range []string{"-5", "x"} {
		r := w.send(t, http.MethodPut, configMaps+"/a", `{"metadata":{"name":"a","resourceVersion":"`+body+`"}}`)
		r.wantError(t, http.StatusInternalServerError, "", "invalid syntax")
	}
	w.send(t, http.MethodPut, configMaps+"/a", `{"metadata":{"name":"a","resourceVersion":"`+future+`"}}`).wantError(t,
		http.StatusConflict, metav1.StatusReasonConflict, "the object has been modified")
}

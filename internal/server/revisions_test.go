package server_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// revisions are points in the history of config maps a, b and c: gone is before b and compacted, old is
// before c, now is the latest, and future does not exist yet.
type revisions struct{ gone, old, now, future string }

// aged creates such a history. It must be called in a synctest bubble.
func (w *testPlane) aged(t *testing.T) revisions {
	t.Helper()
	revision := func() string {
		return must(w.clients.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{}))(t).ResourceVersion
	}
	w.createConfigMaps(t, "default", "a")
	compacted := revision()
	w.createConfigMaps(t, "default", "b")
	time.Sleep(time.Hour)
	old := revision()
	w.createConfigMaps(t, "default", "c")
	return revisions{compacted, old, revision(), "9999999999999999999"}
}

func (r revisions) named(name string) string {
	return map[string]string{"gone": r.gone, "old": r.old, "now": r.now, "future": r.future}[name]
}

// query replaces the names of revisions in a query.
func (r revisions) query(text string) string {
	for _, name := range []string{"gone", "old", "now", "future"} {
		text = strings.ReplaceAll(text, "{"+name+"}", r.named(name))
	}
	return text
}

// TestResourceVersionOfLists covers every cell of the table in Kubernetes' API concepts ("Semantics for get
// and list"): by resourceVersion, resourceVersionMatch and limit, for a list and for the list of a
// deletecollection. The rejections are those of ValidateListOptions in k8s.io/apimachinery and
// k8s.io/apiserver/pkg/storage.
func TestResourceVersionOfLists(t *testing.T) {
	t.Parallel()
	const latest, old = "a b c", "a b" // names at these revisions
	cells := []struct{ version, match, all, paged string }{
		{"", "", latest, latest},
		{"", "Exact", "422", "422"},
		{"", "NotOlderThan", "422", "422"},
		{"0", "", latest, latest},
		{"0", "Exact", "422", "422"},
		{"0", "NotOlderThan", latest, latest},
		{"{now}", "", latest, latest},
		{"{now}", "Exact", latest, latest},
		{"{now}", "NotOlderThan", latest, latest},
		{"{old}", "", latest, old}, // legacy semantics: exact because of the limit
		{"{old}", "Exact", old, old},
		{"{old}", "NotOlderThan", latest, latest},
		{"{gone}", "", latest, "410"},
		{"{gone}", "Exact", "410", "410"},
		{"{gone}", "NotOlderThan", latest, latest},
		{"{future}", "", "504", "504"},
		{"{future}", "Exact", "504", "504"},
		{"{future}", "NotOlderThan", "504", "504"},
		{"x", "", "400", "400"},
		{"-1", "Exact", "400", "400"},
		{"{now}", "Sometimes", "422", "422"},
	}
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		r := w.aged(t)
		for _, c := range cells {
			for limit, want := range map[string]string{"": c.all, "&limit=10": c.paged, "&limit=-1": c.all} {
				query := r.query("?resourceVersion=" + c.version + "&resourceVersionMatch=" + c.match + limit)
				if got := listed(t, w.get(t, configMaps+query)); got != want {
					t.Errorf("GET with version %q, match %q%s: %s, want %s", c.version, c.match, limit, got, want)
				}
				if got := listed(t, w.send(t, http.MethodDelete, configMaps+query, `{"dryRun":["All"]}`)); got != want {
					t.Errorf("DELETE with version %q, match %q%s: %s, want %s", c.version, c.match, limit, got, want)
				}
			}
		}
		// without a body, the query holds DeleteOptions too, in which resourceVersion is a precondition
		if got := listed(t, w.send(t, http.MethodDelete, configMaps+"?dryRun=All&resourceVersion="+r.now,
			"")); got != "409" {
			t.Errorf("DELETE with a revision that not all objects have: %s, want a conflict", got)
		}
		// a single object selected by name is read rather than listed: a limit does not make its revision
		// exact
		one := configMaps + r.query("?fieldSelector=metadata.name%3Dc&limit=1&resourceVersion={old}")
		if got := listed(t, w.get(t, one)); got != "c" {
			t.Errorf("one object with a limit at an old revision: %s, want c", got)
		}
		if got := listed(t, w.get(t, one+"&resourceVersionMatch=Exact")); got != "" {
			t.Errorf("one object exactly at an old revision: %s, want none", got)
		}
	})
}

// listed returns the names in a list, or the code of a rejection.
func listed(t *testing.T, r response) string {
	t.Helper()
	if r.code != http.StatusOK {
		return strconv.Itoa(r.code)
	}
	var list metav1.PartialObjectMetadataList
	r.into(t, &list)
	var names []string
	for _, item := range list.Items {
		names = append(names, item.Name)
	}
	return strings.Join(names, " ")
}

// TestContinueTokens combines tokens with other parameters (DecodeContinue and ValidateListOptions of
// k8s.io/apiserver/pkg/storage).
func TestContinueTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		r := w.aged(t)
		token := func(revision, start string) string {
			return base64.RawURLEncoding.EncodeToString([]byte(r.query(`{"v":"meta.k8s.io/v1","rv":` + revision +
				`,"start":"` + start + `"}`)))
		}
		for _, c := range []struct{ revision, start, more, want string }{
			{"{old}", `/a\u0000`, "", "b"},
			{"{now}", `/a\u0000`, "", "b c"},
			{"-1", `/a\u0000`, "", "b c"}, // continue in the latest state
			{"-1", `a\u0000`, "", "b c"},  // the slash is optional
			{"-1", `/zz`, "", ""},
			{"{now}", `/a\u0000`, "&resourceVersion=0", "b c"},
			{"{now}", `/a\u0000`, "&resourceVersion={now}", "400"},
			{"{now}", `/a\u0000`, "&resourceVersion=0&resourceVersionMatch=NotOlderThan", "422"},
			{"{now}", `/a\u0000`, "&resourceVersionMatch=Exact", "422"},
			{"{now}", `/a\u0000`, "&fieldSelector=metadata.name%3Dc", "c"},
			{"{now}", `/a\u0000`, "&fieldSelector=metadata.name%3Da", ""},
			{"{gone}", `/a\u0000`, "", "410"},
			{"9000000000000000000", `/a\u0000`, "", "504"},
			{"0", `/a\u0000`, "", "400"},
			{"{now}", ``, "", "400"},
			{"{now}", `/../x`, "", "400"},
			{"{now}", `/a//b`, "", "400"},
		} {
			if got := listed(t,
				w.get(t, configMaps+"?continue="+token(c.revision, c.start)+r.query(c.more))); got != c.want {
				t.Errorf("revision %s, start %s%s: %s, want %s", c.revision, c.start, c.more, got, c.want)
			}
		}
		expired := w.get(t, configMaps+"?limit=1&continue="+token("{gone}", `/a\u0000`)).wantError(t, http.StatusGone,
			metav1.StatusReasonExpired, "inconsistent list")
		var next struct{ RV int64 }
		if err := json.Unmarshal(must(base64.RawURLEncoding.DecodeString(expired.ListMeta.Continue))(t),
			&next); err != nil || next.RV != -1 {
			t.Errorf("the token of a 410 is %+v, %v; want revision -1", next, err)
		}
		rest := w.get(t, configMaps+"?limit=1&continue="+expired.ListMeta.Continue).want(t, http.StatusOK).object(t)
		if valueAt(rest, "metadata", "resourceVersion") != r.now ||
			valueAt(rest, "metadata", "remainingItemCount") != float64(1) {
			t.Errorf("the inconsistent rest: %v", rest["metadata"])
		}
	})
}

// Continue tokens of cluster-scoped kinds have no namespace, as in Kubernetes.
func TestContinueTokensOfClusterScopedKinds(t *testing.T) {
	t.Parallel()
	w := start(t)
	first := w.get(t, "/api/v1/namespaces?limit=1").want(t, http.StatusOK).object(t)
	next := valueAt(first, "metadata", "continue").(string)
	if text := string(must(base64.RawURLEncoding.DecodeString(next))(t)); !strings.Contains(text,
		`"start":"/default\u0000"`) {
		t.Errorf("the token is %s", text)
	}
	if got := listed(t, w.get(t, "/api/v1/namespaces?continue="+next)); strings.Contains(got, "default") ||
		!strings.Contains(got, "kube-system") {
		t.Errorf("the second page has %s", got)
	}
}

// A get at a minimum revision returns the latest state.
func TestResourceVersionOfGets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		r := w.aged(t)
		for version, want := range map[string]int{
			"": 200, "0": 200, "{gone}": 200, "{old}": 200, "{now}": 200, "{future}": 504, "x": 500,
		} {
			if got := w.get(t, configMaps+"/c?resourceVersion="+r.query(version)); got.code != want {
				t.Errorf("version %q: %d %s, want %d", version, got.code, got.body, want)
			}
		}
		w.get(t, configMaps+"/c?export=true").wantError(t, http.StatusBadRequest, metav1.StatusReasonBadRequest,
			"the export parameter, deprecated since v1.14, is no longer supported")
		w.get(t, configMaps+"/c?export=false").want(t, http.StatusOK)
	})
}

// TestResourceVersionOfWatches covers where a watch starts, by every parameter that determines it (KEP-3157;
// SetListOptionsDefaults and ValidateListOptions of k8s.io/apimachinery). Only future revisions differ from
// Kubernetes, which waits for them: a client of a restored server would wait forever.
func TestResourceVersionOfWatches(t *testing.T) {
	t.Parallel()
	const state, marked, later = "ADDED a, ADDED b, ADDED c", ", BOOKMARK end", "ADDED c"
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		r := w.aged(t)
		for _, c := range []struct{ query, want string }{
			{"", state},
			{"resourceVersion=0", state},
			{"allowWatchBookmarks=true", state + marked},
			{"resourceVersion={now}", ""},
			{"resourceVersion={old}", later},
			{"resourceVersion={gone}", "ERROR 410"},
			{"resourceVersion={future}", "ERROR 504"},
			{"resourceVersion=x", "500"},
			{"resourceVersionMatch=NotOlderThan", "422"},
			{"resourceVersion={old}&resourceVersionMatch=NotOlderThan", "422"},
			{"sendInitialEvents=true", "422"},
			{"sendInitialEvents=true&resourceVersionMatch=Exact", "422"},
			{"sendInitialEvents=true&resourceVersionMatch=NotOlderThan", state},
			{"sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", state + marked},
			{"sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=0",
				state + marked},
			{"sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion={old}",
				state + marked},
			{"sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion={gone}",
				state + marked},
			{"sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion={future}", "ERROR 504"},
			{"sendInitialEvents=false&resourceVersionMatch=NotOlderThan", ""},
			{"sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=0", ""},
			{"sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion={old}", later},
			{"sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion={gone}", "ERROR 410"},
			{"fieldSelector=metadata.name%3Db", "ADDED b"},
			{"labelSelector=none", ""},
			{"limit=1", state},
		} {
			if got := watched(t, w.get(t, configMaps+"?watch=true&timeoutSeconds=1&"+r.query(c.query))); got != c.want {
				t.Errorf("%q: %s, want %s", c.query, got, c.want)
			}
		}
	})
}

// watched returns the events of a watch that has ended, or the code of a rejection.
func watched(t *testing.T, r response) string {
	t.Helper()
	if r.code != http.StatusOK {
		return strconv.Itoa(r.code)
	}
	var events []string
	for line := range strings.Lines(string(r.body)) {
		var e event
		response{body: []byte(line)}.into(t, &e)
		switch {
		case e.Type == "ERROR":
			events = append(events, fmt.Sprint("ERROR ", e.Object["code"]))
		case e.Type == "BOOKMARK" &&
			valueAt(e.Object, "metadata", "annotations", metav1.InitialEventsAnnotationKey) == "true":
			events = append(events, "BOOKMARK end")
		default:
			events = append(events, e.String())
		}
	}
	return strings.Join(events, ", ")
}

// A watch sends a last bookmark before it ends, so that its client can resume there.
func TestWatchSendsBookmarkBeforeTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		r := w.aged(t)
		s := w.open(t,
			configMaps+
				"?watch=true&allowWatchBookmarks=true&timeoutSeconds=30&fieldSelector=metadata.name%3Dz&resourceVersion="+r.now)
		began := time.Now()
		w.createConfigMaps(t, "default", "d")
		e, _ := s.next(t)
		if e.Type != "BOOKMARK" || time.Since(began) != 28*time.Second ||
			valueAt(e.Object, "metadata", "resourceVersion").(string) <= r.now {
			t.Errorf("after %s: %v, want a bookmark after 28s", time.Since(began), e)
		}
		if e, more := s.next(t); more || time.Since(began) != 30*time.Second {
			t.Errorf("after %s: %v, want the end after 30s", time.Since(began), e)
		}
	})
}

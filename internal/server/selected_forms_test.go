package server_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// Watches with random selectors, of one namespace or all, as JSON, tables, metadata or protobuf, from the
// current or an older revision, receive exactly the selected events of a watch of everything.
func TestRandomWatchesMatchSelectors(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 7))
				w := start(t)
				for _, name := range namespacesOfForms {
					w.namespace(t, name)
				}
				all := watchForm(t, w, selecting{from: w.revision(t)}, "")
				var watches []*selecting
				for range 60 {
					from := w.revision(t)
					if len(watches) > 0 && random.IntN(2) == 0 { // starts with events from the history
						from = watches[random.IntN(len(watches))].from
					}
					s := randomSelecting(random, from)
					s.got = watchForm(t, w, *s, s.form)
					watches = append(watches, s)
					for range random.IntN(20) {
						changeLabels(t, w, random)
					}
				}
				w.create(t, "/api/v1/namespaces", `{"metadata":{"name":"last"}}`) // a revision for the last bookmarks
				events, sent := <-all, 0
				for _, s := range watches {
					got, want := <-s.got, s.of(t, events)
					if !slices.Equal(got, want) {
						t.Errorf("%+v was sent\n%v\nnot\n%v", *s, got, want)
					}
					sent += len(got)
				}
				if len(events) < 100 || sent < len(events) {
					t.Errorf("%d events, and %d of watches with selectors, show little", len(events), sent)
				}
			})
		})
	}
}

var namespacesOfForms = []string{"n1", "n2", "n3"}

// selecting is a watch: its namespace (empty for all), selectors, start revision and form.
type selecting struct {
	namespace, labels, fields, from, form string
	got                                   <-chan []string
}

func randomSelecting(random *rand.Rand, from string) *selecting {
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	s := &selecting{from: from, form: pick("", tableType, partialType, protobufType), namespace: pick("", "n1", "n2")}
	var requirements []string
	for range random.IntN(4) {
		key, a, b := pick("a", "b", "c"), pick("1", "2", "3", ""), pick("1", "2", "9")
		requirements = append(requirements,
			pick(key, "!"+key, key+"="+a, key+"!="+a, fmt.Sprintf("%s in (%s,%s)", key, a, b),
				fmt.Sprintf("%s notin (%s,%s)", key, a, b), key+">1", key+"<3"))
	}
	s.labels = strings.Join(requirements, ",")
	name, namespace := pick("m0", "m1", "none"), pick("n1", "n3")
	s.fields = pick("", "", "", "metadata.name="+name, "metadata.name!="+name, "metadata.namespace="+namespace,
		"metadata.namespace!="+namespace, "metadata.name="+name+",metadata.namespace="+namespace)
	return s
}

// changeLabels creates, labels or deletes one of a few config maps.
func changeLabels(t *testing.T, w *testPlane, random *rand.Rand) {
	t.Helper()
	namespace, name := namespacesOfForms[random.IntN(3)], fmt.Sprint("m", random.IntN(3))
	path := "/api/v1/namespaces/" + namespace + "/configmaps"
	value := []string{"null", `""`, `"1"`, `"2"`, `"3"`}[random.IntN(5)]
	key := []string{"a", "b", "c"}[random.IntN(3)]
	switch random.IntN(6) {
	case 0:
		w.send(t, http.MethodDelete, path+"/"+name, "")
	case 1:
		value = strings.ReplaceAll(value, "null", `"2"`)
		w.send(t, http.MethodPost, path, fmt.Sprintf(`{"metadata":{"name":%q,"labels":{%q:%s}}}`, name, key, value))
	default:
		patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, key, value)
		w.send(t, http.MethodPatch, path+"/"+name, patch, "Content-Type", mergeType)
	}
}

// revision returns the current revision.
func (w *testPlane) revision(t *testing.T) string {
	t.Helper()
	return must(w.clients.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{Limit: 1}))(t).ResourceVersion
}

// watchForm reads a watch up to its first bookmark, as one line per event.
func watchForm(t *testing.T, w *testPlane, s selecting, form string) <-chan []string {
	t.Helper()
	path := "/api/v1/configmaps"
	if s.namespace != "" {
		path = "/api/v1/namespaces/" + s.namespace + "/configmaps"
	}
	got := make(chan []string, 1)
	if form == protobufType {
		go s.readTyped(t, typed(t, w.config, protobufType).CoreV1().ConfigMaps(s.namespace), got)
		return got
	}
	q := url.Values{
		"watch": {"1"}, "allowWatchBookmarks": {"1"}, "resourceVersion": {s.from},
		"labelSelector": {s.labels}, "fieldSelector": {s.fields},
	}
	stream := w.open(t, path+"?"+q.Encode(), "Accept", form)
	go func() {
		var lines []string
		for stream.lines.Scan() {
			var e struct {
				Type   string
				Object struct {
					Metadata metav1.ObjectMeta
					Rows     []struct {
						Object struct{ Metadata metav1.ObjectMeta }
					}
				}
			}
			if json.Unmarshal(stream.lines.Bytes(), &e) != nil || e.Type == "BOOKMARK" {
				break
			}
			m := e.Object.Metadata
			if form == tableType {
				m = e.Object.Rows[0].Object.Metadata
			}
			lines = append(lines, line(e.Type, m.Namespace, m.Name, m.ResourceVersion, m.Labels))
		}
		got <- lines
	}()
	return got
}

// readTyped reads a watch of client-go.
func (s selecting) readTyped(t *testing.T, of corev1client.ConfigMapInterface, got chan<- []string) {
	o := metav1.ListOptions{LabelSelector: s.labels, FieldSelector: s.fields, ResourceVersion: s.from,
		AllowWatchBookmarks: true}
	watching, err := of.Watch(t.Context(), o)
	if err != nil {
		t.Error(err)
		got <- nil
		return
	}
	defer watching.Stop()
	var lines []string
	for e := range watching.ResultChan() {
		if e.Type == watch.Bookmark {
			break
		}
		m := e.Object.(metav1.ObjectMetaAccessor).GetObjectMeta()
		lines = append(lines, line(string(e.Type), m.GetNamespace(), m.GetName(), m.GetResourceVersion(),
			m.GetLabels()))
	}
	got <- lines
}

// line formats an event of a watch as words without spaces.
func line(kind, namespace, name, revision string, set labels.Set) string {
	return strings.Join([]string{kind, namespace, name, revision, set.String()}, " ")
}

// of computes the events of the watch from the events of everything. An object that leaves the selection is
// shown with its previous labels.
func (s *selecting) of(t *testing.T, events []string) (out []string) {
	t.Helper()
	byLabel := must(labels.Parse(s.labels))(t)
	byField := must(fields.ParseSelector(s.fields))(t)
	type state struct {
		selected bool
		labels   string
	}
	have := map[string]state{}
	for _, e := range events {
		word := strings.Split(e, " ")
		namespace, name := word[1], word[2]
		set := must(labels.ConvertSelectorToLabelsMap(word[4]))(t)
		before := have[namespace+"/"+name]
		values := fields.Set{"metadata.name": name, "metadata.namespace": namespace}
		now := word[0] != "DELETED" && byLabel.Matches(set) && byField.Matches(values)
		have[namespace+"/"+name] = state{now, word[4]}
		kind := typeOf(before.selected, now)
		if kind == "" || word[3] <= s.from || s.namespace != "" && s.namespace != namespace {
			continue
		}
		if kind == "DELETED" {
			word[4] = before.labels
		}
		out = append(out, strings.Join([]string{kind, namespace, name, word[3], word[4]}, " "))
	}
	return out
}

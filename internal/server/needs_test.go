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

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// Under random changes of labels and fields, the events of a watch with selectors are the selected events of
// a watch of everything.
func TestWatchWithSelectorFiltersAllEvents(t *testing.T) {
	t.Parallel()
	const pods = "/api/v1/namespaces/default/pods"
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		watchFrom := func(labelSelector, fieldSelector string) *streaming {
			q := url.Values{"watch": {"1"}, "allowWatchBookmarks": {"1"}, "resourceVersion": {"0"},
				"labelSelector": {labelSelector}, "fieldSelector": {fieldSelector}}
			return w.open(t, pods+"?"+q.Encode())
		}
		selectors := [][2]string{
			{"a=1", ""}, {"a in (1,2)", ""}, {"a", ""}, {"!a", ""}, {"a!=1", ""}, {"a>1", ""}, {"a=1,b=1", ""},
			{"a notin (1),b", ""}, {"", "status.phase=Running"},
			{"", "status.phase!=Running"}, {"b=1", "status.phase=Running"}, {"", "status.podIP="}, {"", "spec.host=n1"},
			{"", "spec.nodeName=n1"}, {"", "metadata.name=p3,status.phase=Pending"},
		}
		all, seen := read(watchFrom("", "")), make([]<-chan []event, len(selectors))
		for i, s := range selectors {
			seen[i] = read(watchFrom(s[0], s[1]))
		}
		synctest.Wait() // all watches have started, with an empty initial state
		shufflePods(t, w, pods)
		w.create(t, "/api/v1/namespaces", `{"metadata":{"name":"last"}}`) // a revision without events
		events := <-all
		for i, s := range selectors {
			want := selected(t, events, s[0], s[1])
			var got []string
			for _, e := range <-seen[i] {
				got = append(got, e.String()+" "+valueAt(e.Object, "metadata", "resourceVersion").(string))
			}
			if !slices.Equal(got, want) || len(want) == 0 {
				t.Errorf("%q was sent\n%v\nnot\n%v", s, got, want)
			}
		}
	})
}

// shufflePods creates, labels, binds, runs and deletes pods at random.
func shufflePods(t *testing.T, w *testPlane, pods string) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		pod := fmt.Sprint("p", random.IntN(5))
		switch random.IntN(8) {
		case 0:
			w.send(t, http.MethodPost, pods,
				fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"containers":[{"name":"c","image":"i"}]}}`, pod))
		case 1:
			w.send(t, http.MethodDelete, pods+"/"+pod+"?gracePeriodSeconds=0", "")
		case 2:
			binding := `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"` + pod +
				`"},"target":{"kind":"Node","name":"n%d"}}`
			w.send(t, http.MethodPost, pods+"/"+pod+"/binding", fmt.Sprintf(binding, 1+random.IntN(2)))
		case 3, 4:
			phase := []string{"Running", "Pending"}[random.IntN(2)]
			w.send(t, http.MethodPatch, pods+"/"+pod+"/status", fmt.Sprintf(`{"status":{"phase":%q}}`, phase),
				"Content-Type", mergeType)
		default:
			value := []string{`null`, `"1"`, `"2"`, `"3"`}[random.IntN(4)]
			patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, []string{"a", "b"}[random.IntN(2)], value)
			w.send(t, http.MethodPatch, pods+"/"+pod, patch, "Content-Type", mergeType)
		}
	}
}

// read receives the events of a watch up to the first bookmark that does not mark the end of the initial
// state.
func read(s *streaming) <-chan []event {
	read := make(chan []event, 1)
	go func() {
		var events []event
		for s.lines.Scan() {
			var e event
			if json.Unmarshal(s.lines.Bytes(), &e) != nil {
				break
			}
			if e.Type == "BOOKMARK" && valueAt(e.Object, "metadata", "annotations") == nil {
				break
			}
			if e.Type != "BOOKMARK" {
				events = append(events, e)
			}
		}
		read <- events
	}()
	return read
}

// selected computes the events of selectors from the events of everything.
func selected(t *testing.T, all []event, labelSelector, fieldSelector string) (out []string) {
	t.Helper()
	byLabel := must(labels.Parse(labelSelector))(t)
	byField := must(fields.ParseSelector(fieldSelector))(t)
	matched := map[string]bool{}
	for _, e := range all {
		set, values := labels.Set{}, fields.Set{}
		if have, ok := valueAt(e.Object, "metadata", "labels").(map[string]any); ok {
			for key, value := range have {
				set[key] = value.(string)
			}
		}
		name := valueAt(e.Object, "metadata", "name").(string)
		values["metadata.name"] = name
		values["status.phase"], _ = valueAt(e.Object, "status", "phase").(string)
		values["spec.nodeName"], _ = valueAt(e.Object, "spec", "nodeName").(string)
		values["spec.host"] = values["spec.nodeName"]
		before, now := matched[name], e.Type != "DELETED" && byLabel.Matches(set) && byField.Matches(values)
		matched[name] = now
		if kind := typeOf(before, now); kind != "" {
			out = append(out,
				strings.Join([]string{kind, name, valueAt(e.Object, "metadata", "resourceVersion").(string)},
					" "))
		}
	}
	return out
}

// typeOf returns the type of a change for a watch that selects the previous state, the new one, or both.
func typeOf(before, now bool) string {
	switch {
	case before && now:
		return "MODIFIED"
	case now:
		return "ADDED"
	case before:
		return "DELETED"
	}
	return ""
}

// An object leaves a selection by a field that was not yet selectable when the object was written.
func TestWatchByNewlySelectableField(t *testing.T) {
	t.Parallel()
	w := start(t)
	crd := widgets()
	crd.Spec.Versions[0].SelectableFields = nil
	define(t, w, crd)
	w.create(t, widgetsPath, widget("old", `{"color":"red"}`))
	w.create(t, widgetsPath, widget("older", `{"color":"blue"}`))
	patch := `[{"op":"add","path":"/spec/versions/0/selectableFields","value":[{"jsonPath":".spec.color"}]}]`
	w.send(t, http.MethodPatch, definitionsPath+"/"+crd.Name, patch, "Content-Type",
		jsonPatchType).want(t, http.StatusOK)

	red := w.open(t, widgetsPath+"?watch=1&fieldSelector=spec.color%3Dred")
	red.want(t, "ADDED old")
	paint := func(name, color string) {
		t.Helper()
		w.send(t, http.MethodPatch, widgetsPath+"/"+name, `{"spec":{"color":"`+color+`"}}`, "Content-Type",
			mergeType).want(t, http.StatusOK)
	}
	paint("old", "blue")
	paint("older", "red")
	paint("old", "red")
	paint("older", "blue")
	red.want(t, "DELETED old", "ADDED older", "ADDED old", "DELETED older")
}

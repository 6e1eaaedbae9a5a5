package transcript

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// changes returns the changes of all objects since the previous call, one per line, sorted.
func (s *stage) changes() string {
	now := map[string]*unstructured.Unstructured{}
	var lines, eventLines []string
	all := s.all()
	s.names.note(all)
	for _, obj := range all {
		now[obj.id()] = obj.Unstructured
		before := s.observed[obj.id()]
		switch {
		case obj.events:
			eventLines = append(eventLines, s.event(obj, before)...)
		case before == nil:
			lines = append(lines, s.created(obj))
		case before.GetUID() != obj.GetUID():
			lines = append(lines, "- "+s.name(obj), s.created(obj))
		case before.GetResourceVersion() != obj.GetResourceVersion():
			lines = append(lines, s.changed(obj, before)...)
		}
	}
	for id := range s.observed {
		if _, found := now[id]; !found && !strings.HasPrefix(id, "event/") {
			kind, name, _ := strings.Cut(id, "/")
			lines = append(lines, "- "+kind+"/"+s.shortName(name))
		}
	}
	s.observe(now)
	return s.sorted(lines) + s.sorted(eventLines)
}

// observe records the current objects.
func (s *stage) observe(now map[string]*unstructured.Unstructured) {
	s.observed, s.owners = now, nil
	for _, obj := range now {
		s.owners = append(s.owners, obj.GetName())
	}
}

// anyUID matches UIDs, which differ in every run.
var anyUID = regexp.MustCompile(`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`)

// sorted returns the lines sorted by object, with UIDs and generated names replaced by stable ones.
func (s *stage) sorted(lines []string) string {
	for i, line := range lines {
		lines[i] = anyUID.ReplaceAllString(s.aliased(line), "<uid>")
	}
	lines = s.collapsed.collapse(lines)
	slices.SortStableFunc(lines, func(a, b string) int { return strings.Compare(a[2:], b[2:]) })
	var out strings.Builder
	for _, line := range lines {
		out.WriteString(line + "\n")
	}
	return out.String()
}

// shortName removes the namespace default from a name.
func (s *stage) shortName(name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, namespace+"/"), "/")
}

func (s *stage) name(obj object) string {
	return obj.singular + "/" + s.shortName(obj.GetNamespace()+"/"+obj.GetName())
}

// created returns the line of a new object, with its controller, annotations, finalizers and status.
func (s *stage) created(obj object) string {
	line := "+ " + s.name(obj)
	if owner := metav1.GetControllerOfNoCopy(obj); owner != nil {
		line += " of " + strings.ToLower(owner.Kind) + "/" + owner.Name
	}
	for _, field := range []string{"metadata.annotations", "metadata.finalizers", "status"} {
		if v := s.plain(fieldAt(obj.Object, field)); v != nil && !reflect.ValueOf(v).IsZero() {
			line += " " + field + " " + text(v)
		}
	}
	return line
}

// changed returns the line of a changed object, or none if only ignored fields or times of no interest
// changed.
func (s *stage) changed(obj object, before *unstructured.Unstructured) []string {
	old, now := map[string]any{}, map[string]any{}
	s.leaves("", before.Object, old)
	s.leaves("", obj.Object, now)
	parts := s.differences(old, now)
	if len(parts) == 0 {
		return nil
	}
	return []string{"~ " + s.name(obj) + " " + strings.Join(parts, "; ")}
}

// differences describes the fields that differ, sorted by path.
func (s *stage) differences(old, now map[string]any) (parts []string) {
	for _, path := range slices.Sorted(maps.Keys(merged(old, now))) {
		before, after := old[path], now[path]
		switch {
		case reflect.DeepEqual(before, after):
		case before == nil:
			parts = append(parts, fmt.Sprintf("%s %s", path, text(after)))
		case after == nil:
			parts = append(parts, fmt.Sprintf("%s %s, gone", path, text(before)))
		case isLong(before, after):
			parts = append(parts, s.listDifferences(path, before.([]any), after.([]any))...)
		default:
			parts = append(parts, fmt.Sprintf("%s %s, was %s", path, text(after), text(before)))
		}
	}
	return parts
}

func merged(a, b map[string]any) map[string]any {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// ignored are fields that change with every write or carry no information.
var ignored = map[string]bool{
	"metadata.managedFields": true, "metadata.resourceVersion": true, "metadata.uid": true, "metadata.generation": true,
	"status.observedGeneration": true,
}

// leaves collects the fields of an object by path. Conditions are keyed by type and the statuses of
// containers by name; other lists are collected whole.
func (s *stage) leaves(path string, v any, into map[string]any) {
	if ignored[path] {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			s.leaves(strings.TrimPrefix(path+"."+key, "."), value, into)
		}
	case []any:
		if conditions, ok := s.conditions(v); ok && strings.HasSuffix(path, "onditions") {
			for kind, text := range conditions {
				into[kind] = text
			}
			return
		}
		if strings.HasSuffix(path, "ontainerStatuses") {
			for _, item := range v {
				if c, ok := item.(map[string]any); ok {
					s.leaves(fmt.Sprintf("%s.%v", path, c["name"]), c, into)
				}
			}
			return
		}
		into[path] = s.plain(v)
	default:
		into[path] = s.plain(v)
	}
}

// conditions maps the types of a list of conditions to one text each.
func (s *stage) conditions(list []any) (map[string]any, bool) {
	found := map[string]any{}
	for _, item := range list {
		c, ok := item.(map[string]any)
		if !ok || c["type"] == nil {
			return nil, false
		}
		line := fmt.Sprint(c["status"])
		for _, field := range []string{"reason", "message"} {
			if c[field] != nil && c[field] != "" {
				line += " " + fmt.Sprint(c[field])
			}
		}
		found[fmt.Sprint(c["type"])] = literal(line)
	}
	return found, true
}

// literal is a text that is printed without quotes.
type literal string

// plain returns a value without what differs from run to run.
func (s *stage) plain(v any) any {
	switch v := v.(type) {
	case string:
		if parsed, err := time.Parse(time.RFC3339, v); err == nil {
			return literal(fmt.Sprintf("at %s", parsed.Sub(s.start.Truncate(time.Second))))
		}
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			if key != "lastTransitionTime" && key != "lastUpdateTime" && key != "lastProbeTime" && key != "uid" &&
				key != "resourceVersion" {
				out[key] = s.plain(value)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = s.plain(v[i])
		}
		return out
	}
	return v
}

func text(v any) string {
	if l, ok := v.(literal); ok {
		return string(l)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

// fieldAt returns the field of an object at a dotted path, or nil.
func fieldAt(obj map[string]any, path string) any {
	var v any = obj
	for _, name := range strings.Split(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}

// event returns the line of an event that occurred since the previous call, with the number of occurrences if
// more than one.
func (s *stage) event(obj object, before *unstructured.Unstructured) []string {
	count, _, _ := unstructured.NestedInt64(obj.Object, "count")
	if before != nil && before.GetUID() == obj.GetUID() {
		oldCount, _, _ := unstructured.NestedInt64(before.Object, "count")
		count -= oldCount
	}
	if count == 0 {
		return nil
	}
	field := func(path string) string { return fmt.Sprint(fieldAt(obj.Object, path)) }
	line := fmt.Sprintf("! %s %s %s/%s: %s", field("type"), field("reason"),
		strings.ToLower(field("involvedObject.kind")), field("involvedObject.name"), field("message"))
	if count > 1 {
		line += fmt.Sprintf(" (%d times)", count)
	}
	return []string{line}
}

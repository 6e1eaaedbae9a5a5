package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// fact is a resource in the aggregated discovery of a real server.
type fact struct {
	GroupVersion, Resource string
	Subresources           []struct{ Subresource string }
}

func readFacts(folder string) ([]fact, error) {
	var facts []fact
	for _, file := range []string{"api.jsonl", "apis.jsonl"} {
		data, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			return nil, err
		}
		for line := range bytes.Lines(data) {
			var f fact
			if err := json.Unmarshal(line, &f); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			facts = append(facts, f)
		}
	}
	return facts, nil
}

// writeMissing writes what Kubernetes serves and this server does not, and vice versa.
func writeMissing(w *bytes.Buffer, served []groupVersion, facts []fact) {
	w.WriteString("## Compared with Kubernetes 1.36\n\n")
	missing, theirs := map[string][]string{}, map[string]bool{}
	var order []string
	for _, f := range facts {
		theirs[f.GroupVersion] = true
		lacking := lacking(served, f)
		if len(lacking) > 0 && missing[f.GroupVersion] == nil {
			order = append(order, f.GroupVersion)
		}
		missing[f.GroupVersion] = append(missing[f.GroupVersion], lacking...)
	}
	if len(order) == 0 {
		w.WriteString("Every resource and subresource that Kubernetes 1.36 serves is served.\n")
	} else {
		w.WriteString("Kubernetes 1.36 serves these, and this server does not:\n\n| group and version | resources |\n|---|---|\n")
	}
	for _, gv := range order {
		fmt.Fprintf(w, "| %s | %s |\n", gv, strings.Join(missing[gv], ", "))
	}
	var ours []string
	for _, gv := range served {
		if !theirs[gv.String()] {
			ours = append(ours, gv.String())
		}
	}
	fmt.Fprintf(w, "\nServed here, but not by Kubernetes 1.36, which had dropped them or did not have them yet: %s.\n\n", strings.Join(ours, ", "))
}

// lacking returns the parts of a resource that are not served.
func lacking(served []groupVersion, f fact) []string {
	gv, _ := schema.ParseGroupVersion(f.GroupVersion) // recorded values are valid
	for _, s := range served {
		if s.GroupVersion != gv {
			continue
		}
		for _, k := range s.kinds {
			if k.Kind.Info().Plural != f.Resource {
				continue
			}
			var out []string
			for _, sub := range f.Subresources {
				if k.Kind.Info().Subresource(sub.Subresource) == nil {
					out = append(out, f.Resource+"/"+sub.Subresource)
				}
			}
			return out
		}
	}
	return []string{f.Resource}
}

// readReasons returns the distinct reasons for known differences from the recordings.
func readReasons(file string) ([]string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	reasons := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		step, reason, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if ok && !strings.HasPrefix(step, "#") && !strings.HasSuffix(reason, "served yet") {
			reasons[reason] = true
		}
	}
	return slices.Sorted(maps.Keys(reasons)), nil
}

// writeReasons lists the reasons, except for unserved resources, which are in the table.
func writeReasons(w *bytes.Buffer, reasons []string) {
	w.WriteString("\n## Recorded answers that differ\n\nBesides the answers for resources that are not served, some differ " +
		"for these reasons; internal/golden/differences.txt lists each step:\n\n")
	for _, r := range reasons {
		fmt.Fprintf(w, "- %s\n", r)
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/pmezard/go-difflib/difflib"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/difference"
)

func (f *diffFlags) print(to io.Writer, changes []difference.Change) error {
	switch {
	case f.output == "json":
		return printChangesJSON(to, changes)
	case f.patch:
		return printPatches(to, changes)
	case len(changes) == 0:
		_, err := fmt.Fprintln(to, "Nothing differs.")
		return err
	}
	return printChanges(to, changes)
}

// changedObject is a change that programs read.
type changedObject struct {
	Change string `json:"change"`
	// Resource is as kubectl names it, with its group.
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Fields are those that differ, of an object that both have.
	Fields []difference.Field `json:"fields,omitempty"`
}

func printChangesJSON(to io.Writer, changes []difference.Change) error {
	list := make([]changedObject, len(changes))
	for i, c := range changes {
		list[i] = changedObject{
			Change: c.What, Resource: c.Key.GroupResource().String(), Namespace: c.Key.Namespace(), Name: c.Key.Name(),
		}
		if c.What == difference.Changed {
			list[i].Fields = difference.Fields(c.Before, c.After)
		}
	}
	return printJSON(to, map[string]any{"changes": list})
}

// fieldsShown is how many fields of an object the table names.
const fieldsShown = 3

func printChanges(to io.Writer, changes []difference.Change) error {
	counts := map[string]int{}
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CHANGE\tRESOURCE\tNAMESPACE\tNAME\tFIELDS")
	for _, c := range changes {
		counts[c.What]++
		var fields []difference.Field
		if c.What == difference.Changed {
			fields = difference.Fields(c.Before, c.After)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", c.What, c.Key.GroupResource(), c.Key.Namespace(), c.Key.Name(), inShort(fields))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(to, "%d added, %d changed, %d removed.\n",
		counts[difference.Added], counts[difference.Changed], counts[difference.Removed])
	return err
}

// inShort is the fields that differ, as a line of a table has room for.
func inShort(fields []difference.Field) string {
	var parts []string
	for i, f := range fields {
		if i == fieldsShown {
			parts = append(parts, fmt.Sprintf("and %d more", len(fields)-fieldsShown))
			break
		}
		parts = append(parts, fmt.Sprintf("%s: %s -> %s", f.Path, valueInShort(f.Before), valueInShort(f.After)))
	}
	return strings.Join(parts, ", ")
}

// valueInShort is a value as JSON, or its beginning.
func valueInShort(value any) string {
	const most = 40
	if value == nil {
		return "none"
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "?"
	}
	if runes := []rune(string(text)); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return string(text)
}

func printPatches(to io.Writer, changes []difference.Change) error {
	for _, c := range changes {
		before, err := asYAML(c.Before)
		if err != nil {
			return err
		}
		after, err := asYAML(c.After)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%s/%s", c.Key.GroupResource(), c.Key.Name())
		if ns := c.Key.Namespace(); ns != "" {
			name += " in " + ns
		}
		patch := difflib.UnifiedDiff{A: before, B: after, FromFile: "a/" + name, ToFile: "b/" + name, Context: 3}
		if err := difflib.WriteUnifiedDiff(to, patch); err != nil {
			return err
		}
	}
	return nil
}

// asYAML is the lines of an object; none of one that is absent.
func asYAML(content map[string]any) ([]string, error) {
	if content == nil {
		return nil, nil
	}
	text, err := yaml.Marshal(content)
	return difflib.SplitLines(strings.TrimSuffix(string(text), "\n")), err
}

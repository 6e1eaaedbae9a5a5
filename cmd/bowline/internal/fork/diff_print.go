package fork

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	"go.yaml.in/yaml/v3"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/cli"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/difference"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/terminal"
	"github.com/bowline-dev/bowline/internal/printable"
)

func (f *diffFlags) print(to io.Writer, changes []difference.Change) error {
	switch {
	case f.output == "json":
		return printChangesJSON(to, changes)
	case f.patch:
		return printPatches(to, changes)
	case len(changes) == 0:
		_, err := fmt.Fprintln(to, "No differences.")
		return err
	}
	return printChanges(to, changes)
}

// changedObject is one element of the JSON output.
type changedObject struct {
	Change string `json:"change"`
	// Resource is the resource and its group, as in deployments.apps.
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Fields lists the changed fields; it is set only for objects that exist in both states.
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
	return cli.PrintJSON(to, map[string]any{"changes": list})
}

// maxFields limits the number of fields that the table shows per object.
const maxFields = 3

func printChanges(to io.Writer, changes []difference.Change) error {
	counts := map[string]int{}
	table := terminal.NewTable(to, 2, "CHANGE", "RESOURCE", "NAMESPACE", "NAME", "FIELDS")
	for _, c := range changes {
		counts[c.What]++
		var fields []difference.Field
		if c.What == difference.Changed {
			fields = difference.Fields(c.Before, c.After)
		}
		table.Row(c.What, c.Key.GroupResource(), c.Key.Namespace(), c.Key.Name(), summarizeFields(fields))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(to, "%d added, %d changed, %d removed.\n",
		counts[difference.Added], counts[difference.Changed], counts[difference.Removed])
	return err
}

// summarizeFields formats the changed fields for one row of the table.
func summarizeFields(fields []difference.Field) string {
	var parts []string
	for i, f := range fields {
		if i == maxFields {
			parts = append(parts, fmt.Sprintf("and %d more", len(fields)-maxFields))
			break
		}
		parts = append(parts, fmt.Sprintf("%s: %s -> %s", f.Path, summarizeValue(f.Before), summarizeValue(f.After)))
	}
	return strings.Join(parts, ", ")
}

// summarizeValue returns a value as JSON, truncated to 40 characters.
func summarizeValue(value any) string {
	const maxLength = 40
	if value == nil {
		return "none"
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "?"
	}
	if runes := []rune(string(text)); len(runes) > maxLength {
		return string(runes[:maxLength-1]) + "…"
	}
	return string(text)
}

func printPatches(to io.Writer, changes []difference.Change) error {
	for _, c := range changes {
		before, err := yamlLines(c.Before)
		if err != nil {
			return err
		}
		after, err := yamlLines(c.After)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%s/%s", c.Key.GroupResource(), c.Key.Name())
		if ns := c.Key.Namespace(); ns != "" {
			name += " in " + ns
		}
		name = printable.Line(name)
		if difference.Masked(c.Key) {
			if _, err := fmt.Fprintf(to, "The values of %s are masked: do not apply this patch.\n", name); err != nil {
				return err
			}
		}
		patch := difflib.UnifiedDiff{A: before, B: after, FromFile: "a/" + name, ToFile: "b/" + name, Context: 3}
		text, err := difflib.GetUnifiedDiffString(patch)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(to, printable.Lines(text)); err != nil {
			return err
		}
	}
	return nil
}

// yamlLines returns the lines of an object in YAML, or nil if the object is absent. Unlike sigs.k8s.io/yaml, it
// does not read JSON as YAML in between, which fails for long keys and some control characters.
func yamlLines(content map[string]any) ([]string, error) {
	if content == nil {
		return nil, nil
	}
	var text strings.Builder
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := errors.Join(encoder.Encode(content), encoder.Close()); err != nil {
		return nil, err
	}
	return difflib.SplitLines(strings.TrimSuffix(text.String(), "\n")), nil
}

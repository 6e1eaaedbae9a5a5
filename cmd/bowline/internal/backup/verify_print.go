package backup

import (
	"fmt"
	"io"
	"strings"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/cli"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/terminal"
	"github.com/bowline-dev/bowline/internal/server/operations"
	"github.com/bowline-dev/bowline/internal/store/backup"
)

// verification is the result of verify.
type verification struct {
	Head     backup.Head `json:"state"`
	Findings []finding   `json:"findings"`
}

// finding is one problem in the JSON output.
type finding struct {
	Problem operations.Problem `json:"problem"`
	// Resource is the resource and its group, as in deployments.apps. It is empty if the object's name is
	// damaged.
	Resource  string `json:"resource,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Message   string `json:"message"`
}

func (v *verification) add(f operations.Finding) {
	found := finding{Problem: f.Problem, Message: f.Message}
	if f.Key != "" {
		found.Resource, found.Namespace, found.Name = f.Key.GroupResource().String(), f.Key.Namespace(), f.Key.Name()
	}
	v.Findings = append(v.Findings, found)
}

// object returns the name of the object for the table.
func (f finding) object() string {
	switch {
	case f.Resource == "":
		return "?"
	case f.Namespace == "":
		return f.Resource + " " + f.Name
	}
	return f.Resource + " " + f.Namespace + "/" + f.Name
}

// print prints the findings as a table with a summary, or as JSON.
func (v *verification) print(to io.Writer, output string) error {
	if output == "json" {
		return cli.PrintJSON(to, v)
	}
	if len(v.Findings) > 0 {
		table := terminal.NewTable(to, 2, "PROBLEM", "OBJECT", "MESSAGE")
		for _, f := range v.Findings {
			table.Row(f.Problem, f.object(), f.Message)
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(to, v.summary())
	return err
}

// summary returns the last line of the text output.
func (v *verification) summary() terminal.Text {
	prefix := terminal.Sprintf("Checked %d objects of the plane %s at revision %d: ",
		v.Head.Objects, v.Head.Plane, v.Head.Revision)
	if len(v.Findings) == 0 {
		return prefix + "no problems."
	}
	counts := map[operations.Problem]int{}
	var order []operations.Problem
	for _, f := range v.Findings {
		if counts[f.Problem]++; counts[f.Problem] == 1 {
			order = append(order, f.Problem)
		}
	}
	parts := make([]string, len(order))
	for i, problem := range order {
		parts[i] = fmt.Sprintf("%d %s", counts[problem], problem)
	}
	return prefix + terminal.Sprintf("%s.", strings.Join(parts, ", "))
}

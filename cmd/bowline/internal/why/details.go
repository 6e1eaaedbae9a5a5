package why

import (
	"strings"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/terminal"
	"github.com/bowline-dev/bowline/internal/why"
)

// details returns the lines below the first line of a run. Each group of lines starts with a label.
func (t *tree) details(run *why.Run) []terminal.Text {
	var lines []terminal.Text
	add := func(word terminal.Text, texts ...terminal.Text) {
		for k, text := range texts {
			if k > 0 {
				word = ""
			}
			lines = append(lines, t.to.Color(terminal.Faint, terminal.Sprintf("%-9s", word))+" "+text)
		}
	}
	var causes []terminal.Text
	for k := range run.Causes {
		causes = append(causes, terminal.Sprintf("%s", t.cause(&run.Causes[k])))
	}
	if run.MoreCauses > 0 {
		causes = append(causes, terminal.Sprintf("and %d more", run.MoreCauses))
	}
	done := textsOf(run.Acts)
	for k := range run.Writes {
		done = append(done, t.write(&run.Writes[k]))
	}
	if run.MoreWrites > 0 {
		done = append(done, terminal.Sprintf("and %d more writes", run.MoreWrites))
	}
	add("because", causes...)
	add("compared", textsOf(run.Notes)...)
	add("did", done...)
	if run.Err != "" {
		add("failed", terminal.Sprintf("%s", run.Err))
	}
	if run.RequeueAfter > 0 {
		add("next", terminal.Sprintf("again in %s", terminal.FormatDuration(run.RequeueAfter)))
	}
	return lines
}

// textsOf returns texts of a report as lines.
func textsOf(texts []string) []terminal.Text {
	lines := make([]terminal.Text, len(texts))
	for k, text := range texts {
		lines[k] = terminal.Sprintf("%s", text)
	}
	return lines
}

// name returns the name of an object, or "it" for the object of the report.
func (t *tree) name(o why.Object) string {
	if o == t.report.Object {
		return "it"
	}
	return o.String()
}

func (t *tree) cause(c *why.Cause) string {
	switch c.Kind {
	case why.Changed, why.Started, why.Resynced:
		return strings.Replace(c.String(), c.Object.String(), t.name(c.Object), 1)
	}
	return c.String()
}

var pastTense = map[string]string{"create": "created", "update": "updated", "patch": "patched", "apply": "applied",
	"delete": "deleted", "deletecollection": "deleted all"}

func (t *tree) write(w *why.Write) terminal.Text {
	object := t.name(w.Object)
	if w.Object.Name == "" {
		object = strings.TrimSuffix(w.Object.String(), "/") // a collection
	}
	switch {
	case w.Subresource != "" && object == "it":
		object = "its " + w.Subresource
	case w.Subresource != "":
		object = "the " + w.Subresource + " of " + object
	}
	if w.Err != "" {
		return terminal.Sprintf("%s: %s", t.to.Color(terminal.Red, terminal.Sprintf("could not %s %s", w.Verb, object)),
			w.Err)
	}
	done := pastTense[w.Verb]
	if done == "" {
		done = w.Verb
	}
	text := terminal.Sprintf("%s %s", done, object)
	switch {
	case w.Unchanged:
		text += t.to.Color(terminal.Yellow, ", which changed nothing")
	case w.Revision != 0 && !w.Deleting: // the revision of a deletion is that of the last state
		text += terminal.Sprintf(" (revision %d)", w.Revision)
	}
	return text
}

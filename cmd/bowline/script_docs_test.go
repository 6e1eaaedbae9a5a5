package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestDocuments runs the commands of documents. A block "yaml FILE" is a file; a block "console" contains
// commands after $, each followed by its output. A command whose output is an error must fail. Placeholders
// are described at cmdLike.
func TestDocuments(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"apply", "backup"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("testdata", "docs", name+".md"))
			if err != nil {
				t.Fatal(err)
			}
			script := filepath.Join(t.TempDir(), name+".txtar")
			if err := os.WriteFile(script, []byte(scriptOf(string(text))), 0o600); err != nil {
				t.Fatal(err)
			}
			testscript.Run(t, testscript.Params{
				Files: []string{script}, Setup: setUpScript,
				Cmds: map[string]func(*testscript.TestScript, bool, []string){"up": cmdUp, "down": cmdDown, "like": cmdLike},
			})
		})
	}
}

// scriptOf converts a document to a script.
func scriptOf(text string) string {
	var commands, files strings.Builder
	commands.WriteString("up\n")
	kind, file := "", ""
	outputs := 0
	for line := range strings.Lines(text) {
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && kind == "":
			kind, file, _ = strings.Cut(strings.TrimSpace(info), " ")
			if kind == "yaml" {
				fmt.Fprintf(&files, "-- %s --\n", file)
			}
		case fence:
			kind = ""
		case kind == "yaml":
			files.WriteString(line)
		case kind == "console":
			outputs = addConsole(&commands, &files, line, outputs)
		}
	}
	return commands.String() + "down\n" + files.String()
}

// addConsole adds a line of a console block: a command, which runs in a shell, or a line of the last
// command's output. It returns the number of outputs.
func addConsole(commands, files *strings.Builder, line string, outputs int) int {
	if command, ok := strings.CutPrefix(line, "$ "); ok {
		fmt.Fprintf(commands, "exec sh -c '%s'\n", strings.ReplaceAll(strings.TrimSpace(command), "'", "''"))
		return outputs
	}
	name := fmt.Sprintf("output-%d", outputs)
	text := commands.String()
	last := text[strings.LastIndexByte(strings.TrimSuffix(text, "\n"), '\n')+1:]
	if strings.HasPrefix(last, "like ") {
		files.WriteString(line) // append to the last output file
		return outputs
	}
	source := "stdout"
	if strings.HasPrefix(line, "error: ") || strings.HasPrefix(line, "Error ") {
		source = "stderr"
		commands.Reset()
		commands.WriteString(strings.TrimSuffix(text, last) + "! " + last)
	}
	fmt.Fprintf(commands, "like %s %s\n", name, source)
	fmt.Fprintf(files, "-- %s --\n%s", name, line)
	return outputs + 1
}

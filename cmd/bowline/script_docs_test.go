package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestDocuments runs the commands of documents: a block "yaml FILE" is a file, and a block "console" has commands after $,
// each with what it prints. A command that prints an error fails. See cmdLike for what differs from run to run.
func TestDocuments(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"apply", "backup"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("..", "..", "docs", name+".md"))
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

// scriptOf makes a script of a document.
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

// addConsole adds a line of a console: a command, which a shell reads as the user's does, or what the last one prints. It
// counts what is printed.
func addConsole(commands, files *strings.Builder, line string, outputs int) int {
	if command, ok := strings.CutPrefix(line, "$ "); ok {
		fmt.Fprintf(commands, "exec sh -c '%s'\n", strings.ReplaceAll(strings.TrimSpace(command), "'", "''"))
		return outputs
	}
	name := fmt.Sprintf("output-%d", outputs)
	text := commands.String()
	last := text[strings.LastIndexByte(strings.TrimSuffix(text, "\n"), '\n')+1:]
	if strings.HasPrefix(last, "like ") {
		files.WriteString(line) // whose file is the last one
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

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pageScript converts a page with several terminals to a script. A block "console" contains commands after $,
// each followed by its output. A block "console NAME" contains a command that keeps running, and its first
// output. A block "text NAME" contains the further output of that command, and "text NAME enter" its output
// after Enter was pressed.
func pageScript(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := pageSession{printed: map[string]string{}}
	up := upPattern.FindSubmatch(text)
	if up == nil {
		t.Fatalf("%s lacks the command that starts the server", file)
	}
	fmt.Fprintf(&s.commands, "up%s\n", up[1])
	for _, block := range blockPattern.FindAllStringSubmatch(string(text), -1) {
		info := strings.Fields(block[1])
		switch {
		case len(info) == 0: // a figure
		case len(info) == 1 && info[0] == "console":
			s.foreground(block[2])
		case len(info) == 2 && info[0] == "console":
			s.background(info[1], block[2])
		case len(info) > 1 && info[0] == "text":
			if len(info) > 2 {
				s.commands.WriteString("enter\n")
			}
			s.prints(info[1], block[2])
		default:
			t.Fatalf("%s has a block that no test runs: %s", file, block[1])
		}
	}
	script := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(file), ".md")+".txtar")
	if err := os.WriteFile(script, []byte(s.commands.String()+s.files.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return script
}

// upPattern matches the command that starts the server, with its flags.
var upPattern = regexp.MustCompile("go run ./cmd/bowline up( [^`\n]*)?[`\n]")

var blockPattern = regexp.MustCompile("(?ms)^```(.*?)\n(.*?)^```$")

// pageSession is a script under construction.
type pageSession struct {
	commands, files strings.Builder
	transcripts     int
	printed         map[string]string // expected output of background programs so far
}

// foreground adds commands that run sequentially.
func (s *pageSession) foreground(block string) {
	for _, step := range strings.Split("\n"+block, "\n$ ")[1:] {
		command, output, _ := strings.Cut(step, "\n")
		if strings.Contains("\n"+output, "\nerror: ") {
			s.commands.WriteString("! ")
		}
		s.command("exec", command)
		fmt.Fprintf(&s.commands, "shows %s\n", s.transcript(output))
	}
}

// background adds a command that keeps running.
func (s *pageSession) background(name, block string) {
	command, output, _ := strings.Cut(strings.TrimPrefix(block, "$ "), "\n")
	s.command("spawn "+name, command)
	if output != "" {
		s.prints(name, output)
	}
	if strings.Contains(command, "--port") {
		fmt.Fprintf(&s.commands, "await -of=%s -as=PORT ':(\\d+)$'\n", name)
	}
}

// prints adds a comparison of the whole output of a background program.
func (s *pageSession) prints(name, more string) {
	s.printed[name] += more
	fmt.Fprintf(&s.commands, "prints %s %s\n", name, s.transcript(s.printed[name]))
}

// command adds a command of the page. It replaces go run by the built program, and ports and resource
// versions by variables.
func (s *pageSession) command(run, typed string) {
	if strings.Contains(typed, "resourceVersion=") {
		s.commands.WriteString("find VERSION '\"resourceVersion\": ?\"(\\d+)\"'\n")
	}
	command := strings.NewReplacer("go run ./examples/clients/", "$PROGRAMS/",
		"--port 8080", "--port 0", "localhost:8080", "127.0.0.1:$PORT").Replace(typed)
	command = versionPattern.ReplaceAllString(command, "$$VERSION")
	if strings.HasPrefix(command, "curl") {
		s.commands.WriteString("[!exec:curl] skip 'install curl, whose answers this page shows'\n")
		command = strings.ReplaceAll(command, "'", "") // quotes would prevent the expansion of variables
	}
	if strings.Contains(command, "--step") {
		command = "sh -c 'exec " + filepath.Base(command) + " 0<>terminal'"
	}
	fmt.Fprintf(&s.commands, "%s %s\n", run, command)
}

var (
	versionPattern = regexp.MustCompile(`\b\d{16}\b`)
	uidPattern     = regexp.MustCompile(placeholders["<uid>"])
	timePattern    = regexp.MustCompile(placeholders["<time>"])
	portPattern    = regexp.MustCompile(`(127\.0\.0\.1):\d+`)
)

// transcript adds a file with expected output, and returns its name. It replaces the parts that vary between
// runs by placeholders.
func (s *pageSession) transcript(text string) string {
	text = versionPattern.ReplaceAllString(text, "<n>")
	text = uidPattern.ReplaceAllString(text, "<uid>")
	text = timePattern.ReplaceAllString(text, "<time>")
	text = portPattern.ReplaceAllString(text, "$1:<n>")
	text = strings.ReplaceAll(text, "...", "<any>")
	s.transcripts++
	name := fmt.Sprintf("output-%d", s.transcripts)
	fmt.Fprintf(&s.files, "-- %s --\n%s\n", name, strings.TrimSuffix(text, "\n"))
	return name
}

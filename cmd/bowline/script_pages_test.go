package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pageScript makes a script of a page whose commands are typed into several terminals. A block "console" has commands after $,
// each with what it prints; a block "console NAME" one that goes on, and what it prints at once; a block "text NAME" what that
// one has printed since, and "text NAME enter" what it prints when Enter is pressed there.
func pageScript(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := pageSession{printed: map[string]string{}}
	up := upPattern.FindSubmatch(text)
	if up == nil {
		t.Fatalf("%s does not say how to start the server", file)
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
			t.Fatalf("%s has a block that nobody tests: %s", file, block[1])
		}
	}
	script := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(file), ".md")+".txtar")
	if err := os.WriteFile(script, []byte(s.commands.String()+s.files.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return script
}

// upPattern is how a page starts the server, and with what.
var upPattern = regexp.MustCompile("go run ./cmd/bowline up( [^`\n]*)?[`\n]")

var blockPattern = regexp.MustCompile("(?ms)^```(.*?)\n(.*?)^```$")

// pageSession is a script that grows.
type pageSession struct {
	commands, files strings.Builder
	transcripts     int
	printed         map[string]string // by programs in the background
}

// foreground runs commands one after the other.
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

// background starts a command that goes on.
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

// prints compares all that a program in the background has printed by now.
func (s *pageSession) prints(name, more string) {
	s.printed[name] += more
	fmt.Fprintf(&s.commands, "prints %s %s\n", name, s.transcript(s.printed[name]))
}

// command writes what is typed in a page as a script has it: programs are built already, and ports and versions differ.
func (s *pageSession) command(run, typed string) {
	if strings.Contains(typed, "resourceVersion=") {
		s.commands.WriteString("find VERSION '\"resourceVersion\": ?\"(\\d+)\"'\n")
	}
	command := strings.NewReplacer("go run ./examples/clients/", "$PROGRAMS/",
		"--port 8080", "--port 0", "localhost:8080", "127.0.0.1:$PORT").Replace(typed)
	command = versionPattern.ReplaceAllString(command, "$$VERSION")
	if strings.HasPrefix(command, "curl") {
		s.commands.WriteString("[!exec:curl] skip 'install curl, whose answers this page shows'\n")
		command = strings.ReplaceAll(command, "'", "") // so that variables are seen
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

// transcript makes a file of what is to be printed, and names it. What differs from run to run is found by its form.
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

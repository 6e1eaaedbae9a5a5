package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestTutorial follows docs/tutorial.md in a temporary home. It runs the commands of the console blocks in
// shells, compares their output, and writes the files of the other blocks. It uses other ports than the page,
// and this program in place of the bowline that the page installs.
func TestTutorial(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl, which the tutorial uses, is not installed: apt-get install curl")
	}
	text, err := os.ReadFile(filepath.Join("testdata", "docs", "tutorial.md"))
	if err != nil {
		t.Fatal(err)
	}
	l := &learner{t: t, home: t.TempDir(), port: freePort(t), shells: map[string]*typedShell{}}
	l.dir = filepath.Join(l.home, "tutorial", "pages")
	t.Cleanup(l.showLog)
	page := strings.ReplaceAll(string(text), ":8080", ":"+l.port)
	for _, block := range tutorialBlock.FindAllStringSubmatch(page, -1) {
		language, where, _ := strings.Cut(block[1], " ")
		switch {
		case language == "console":
			l.typeCommands(where, block[2])
		case where != "":
			l.editFile(filepath.Join(l.dir, filepath.FromSlash(where)), block[2])
		}
	}
	if l.commands < 30 || l.compared < 15 {
		t.Errorf("got %d commands in docs/tutorial.md, %d with output; want at least 30 and 15", l.commands, l.compared)
	}
}

// tutorialBlock matches a code block: its language with a file or a terminal, and its content.
var tutorialBlock = regexp.MustCompile("(?ms)^```(\\w+ ?[^\n]*)\n(.*?)^```$")

// learner follows the tutorial.
type learner struct {
	t                  *testing.T
	home, dir          string // the home folder, and the one of the project
	port               string
	shells             map[string]*typedShell
	commands, compared int
}

// showLog prints the log of the tutorial's program if the test fails.
func (l *learner) showLog() {
	if log, err := os.ReadFile(filepath.Join(l.dir, "log")); err == nil && l.t.Failed() {
		l.t.Logf("the program's log:\n%s", log)
	}
}

// freePort returns a port without a listener. It is below 32768, because Linux uses ports from there on for
// outgoing connections.
func freePort(t *testing.T) string {
	for range 100 {
		port := strconv.Itoa(20_000 + rand.IntN(10_000))
		if listener, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			listener.Close()
			return port
		}
	}
	t.Fatal("no free port in a hundred attempts")
	return ""
}

// typeCommands runs the commands of a block in a terminal. The lines below a command are its expected output.
func (l *learner) typeCommands(name, block string) {
	at := l.shells[name]
	if at == nil {
		at = openShell(l.t, l.home)
		l.shells[name] = at
	}
	for _, step := range strings.Split("\n"+block, "\n$ ")[1:] {
		command, want, shown := strings.Cut(step, "\n")
		l.commands++
		if command == "go install ./cmd/bowline" {
			l.installBowline()
			continue
		}
		if strings.HasPrefix(command, "bowline up ") { // the command keeps running
			at.start(strings.Replace(command, "bowline up ", "bowline up --listen 127.0.0.1:0 ", 1))
			at.waitFor(command, func(output string) bool { return l.matchesPage(output, want) })
			continue
		}
		began := time.Now()
		output, code := at.run(command)
		for deadline := began.Add(6 * patience); shown && !l.matchesPage(output, want) && mayChange(command) &&
			time.Now().Before(deadline); {
			output, code = at.run(command) // the user would run the command again
		}
		l.t.Logf("%5.1f s  $ %s", time.Since(began).Seconds(), command)
		l.compareOutput(command, want, output, code)
	}
}

// installBowline links bowline in the home's program folder to this test binary, which runs bowline under that
// name.
func (l *learner) installBowline() {
	program, err := os.Executable()
	if err != nil {
		l.t.Fatal(err)
	}
	if err := os.MkdirAll(programsOf(l.home), 0o700); err != nil {
		l.t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(programsOf(l.home), "bowline")); err != nil {
		l.t.Fatal(err)
	}
}

// mayChange reports whether the output of a command can change because of controllers.
func mayChange(command string) bool {
	return strings.HasPrefix(command, "curl ") || strings.HasPrefix(command, "bowline why ") ||
		strings.HasPrefix(command, "bowline kubectl get ")
}

// compareOutput compares the output of a command. A command may fail only if the page shows its output.
func (l *learner) compareOutput(command, want, output string, code int) {
	switch {
	case want != "":
		l.compared++
		if !l.matchesPage(output, want) {
			l.t.Fatalf("$ %s\ngot:\n%s\nwant, from docs/tutorial.md:\n%s", command, output, want)
		}
	case code != 0:
		l.t.Fatalf("$ %s\nfailed with %d:\n%s", command, code, output)
	}
}

// matchesPage reports whether the output matches the page, where a line ... stands for any lines.
func (l *learner) matchesPage(output, want string) bool {
	var pattern strings.Builder
	for _, line := range linesOf(want) {
		if line == "..." {
			pattern.WriteString("(.*\n)*?")
			continue
		}
		pattern.WriteString(regexp.QuoteMeta(l.normalize(line)) + "\n")
	}
	var got strings.Builder
	for _, line := range linesOf(output) {
		got.WriteString(l.normalize(line) + "\n")
	}
	return regexp.MustCompile("^" + pattern.String() + "$").MatchString(got.String())
}

// normalize replaces the parts of a line that vary between runs: durations, ports, seeds, line numbers, and the
// home folder.
func (l *learner) normalize(line string) string {
	line = strings.ReplaceAll(line, l.home, "/home/you")
	for _, differs := range []struct{ pattern, instead string }{
		{`\d+(\.\d+)?(ns|µs|ms|s|m|h)(\d+(\.\d+)?(ms|s|m))*`, "<duration>"},
		{`https://127\.0\.0\.1:\d+`, "https://127.0.0.1:<port>"},
		{`\d+ fault points in \d+ runs`, "<n> fault points in <n> runs"},
		{`seed \d+`, "seed <n>"},
		{`_test\.go:\d+`, "_test.go:<n>"},
	} {
		line = regexp.MustCompile(differs.pattern).ReplaceAllString(line, differs.instead)
	}
	return plain(line)
}

// editFile writes a file. If the block is not a whole Go file, it replaces the declarations of the same names in
// the existing file.
func (l *learner) editFile(file, block string) {
	if strings.HasSuffix(file, ".go") && !strings.Contains("\n"+block, "\npackage ") {
		text, err := os.ReadFile(file)
		if err != nil {
			l.t.Fatal(err)
		}
		if block, err = replaceDeclarations(string(text), block); err != nil {
			l.t.Fatal(fmt.Errorf("%s: %w", file, err))
		}
	}
	if err := os.WriteFile(file, []byte(block), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

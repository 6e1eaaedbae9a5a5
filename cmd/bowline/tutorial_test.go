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

// TestTutorial does what docs/tutorial.md says, in a home of its own: it types the commands of its console blocks into shells,
// compares what they print, and writes the files of its other blocks. It takes other ports than the page, and this program for the
// bowline that the page installs.
func TestTutorial(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed, with which the tutorial looks at its page: apt-get install curl")
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "tutorial.md"))
	if err != nil {
		t.Fatal(err)
	}
	l := &learner{t: t, home: t.TempDir(), port: freePort(t), shells: map[string]*typedShell{}}
	l.at = filepath.Join(l.home, "tutorial", "pages")
	t.Cleanup(l.showLog)
	page := strings.ReplaceAll(string(text), ":8080", ":"+l.port)
	for _, block := range tutorialBlock.FindAllStringSubmatch(page, -1) {
		language, where, _ := strings.Cut(block[1], " ")
		switch {
		case language == "console":
			l.types(where, block[2])
		case where != "":
			l.edits(filepath.Join(l.at, filepath.FromSlash(where)), block[2])
		}
	}
	if l.commands < 30 || l.compared < 15 {
		t.Errorf("the page has no more than %d commands, and shows what %d of them print", l.commands, l.compared)
	}
}

// tutorialBlock is a block of code: its language, with a file or a terminal, and what is in it.
var tutorialBlock = regexp.MustCompile("(?ms)^```(\\w+ ?[^\n]*)\n(.*?)^```$")

// learner is who follows the tutorial.
type learner struct {
	t                  *testing.T
	home, at           string // the home folder, and the one of the project
	port               string
	shells             map[string]*typedShell
	commands, compared int
}

// showLog says what the program of the page had to say, if the page fails.
func (l *learner) showLog() {
	if log, err := os.ReadFile(filepath.Join(l.at, "log")); err == nil && l.t.Failed() {
		l.t.Logf("the program's log:\n%s", log)
	}
}

// freePort is a port that nothing listens at, and that no connection is given meanwhile: Linux gives those 32768 and above.
func freePort(t *testing.T) string {
	for range 100 {
		port := strconv.Itoa(20_000 + rand.IntN(10_000))
		if listener, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			listener.Close()
			return port
		}
	}
	t.Fatal("a hundred ports were taken")
	return ""
}

// types runs the commands of a block in a terminal. What stands below a command is what it prints.
func (l *learner) types(name, block string) {
	at := l.shells[name]
	if at == nil {
		at = openShell(l.t, l.home)
		l.shells[name] = at
	}
	for _, step := range strings.Split("\n"+block, "\n$ ")[1:] {
		command, want, shown := strings.Cut(step, "\n")
		l.commands++
		if command == "go install ./cmd/bowline" {
			l.installs()
			continue
		}
		if strings.HasPrefix(command, "bowline up ") { // which goes on
			at.begin(strings.Replace(command, "bowline up ", "bowline up --listen 127.0.0.1:0 ", 1))
			at.until(command, func(output string) bool { return l.isShown(output, want) })
			continue
		}
		began := time.Now()
		output, code := at.run(command)
		for deadline := began.Add(6 * patience); shown && !l.isShown(output, want) && mayChange(command) && time.Now().Before(deadline); {
			output, code = at.run(command) // a person would look again
		}
		l.t.Logf("%5.1f s  $ %s", time.Since(began).Seconds(), command)
		l.judge(command, want, output, code)
	}
}

// installs makes this program, which is the real bowline when it is called so, the one that is installed.
func (l *learner) installs() {
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

// mayChange says whether a command looks at what controllers are about to change.
func mayChange(command string) bool {
	return strings.HasPrefix(command, "curl ") || strings.HasPrefix(command, "bowline why ") || strings.HasPrefix(command, "bowline kubectl get ")
}

// judge compares what a command has printed. One that fails must be shown to.
func (l *learner) judge(command, want, output string, code int) {
	switch {
	case want != "":
		l.compared++
		if !l.isShown(output, want) {
			l.t.Fatalf("$ %s\nprints:\n%s\nand docs/tutorial.md says:\n%s", command, output, want)
		}
	case code != 0:
		l.t.Fatalf("$ %s\nfails with %d:\n%s", command, code, output)
	}
}

// isShown says whether an output is as the page has it, where a line ... is any lines.
func (l *learner) isShown(output, want string) bool {
	var pattern strings.Builder
	for _, line := range linesOf(want) {
		if line == "..." {
			pattern.WriteString("(.*\n)*?")
			continue
		}
		pattern.WriteString(regexp.QuoteMeta(l.settled(line)) + "\n")
	}
	var got strings.Builder
	for _, line := range linesOf(output) {
		got.WriteString(l.settled(line) + "\n")
	}
	return regexp.MustCompile("^" + pattern.String() + "$").MatchString(got.String())
}

// settled is a line without what is another each time: how long things take, ports, seeds, and where home is.
func (l *learner) settled(line string) string {
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

// edits writes a file: all of it, where the block is a whole file, else the declarations in the block instead of those of the same
// names.
func (l *learner) edits(file, block string) {
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

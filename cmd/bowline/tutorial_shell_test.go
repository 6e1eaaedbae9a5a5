package main

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// typedShell is a shell that reads commands from its standard input.
type typedShell struct {
	*process
	t     *testing.T
	typed io.Writer
	seen  int // length of the output of previous commands
}

// openShell starts a shell in the checkout with the given home. All its processes are killed when the test
// ends.
func openShell(t *testing.T, home string) *typedShell {
	t.Helper()
	s := &typedShell{
		t:       t,
		process: &process{cmd: exec.Command("sh"), exited: make(chan struct{}), more: make(chan struct{})},
	}
	checkout, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	programs := programsOf(home)
	s.cmd.Dir = checkout
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.cmd.Env = []string{"HOME=" + home, "PATH=" + programs + string(os.PathListSeparator) + os.Getenv("PATH")}
	variables, err := goEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	for name := range maps.Keys(variables) {
		s.cmd.Env = append(s.cmd.Env, name+"="+variables[name])
	}
	if s.typed, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	lives, test, err := os.Pipe() // closed when this process ends for any reason
	if err != nil {
		t.Fatal(err)
	}
	defer lives.Close()
	s.cmd.ExtraFiles = []*os.File{lives}
	read, write := io.Pipe()
	s.cmd.Stdout, s.cmd.Stderr = write, write
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go s.collect(read)
	go func() {
		s.err = s.cmd.Wait()
		write.Close()
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) // kills the process group
		<-s.exited
		test.Close()
	})
	s.start("{ read _ <&3; kill -9 0; } &")
	return s
}

// programsOf returns the folder of the programs installed in a home.
func programsOf(home string) string { return filepath.Join(home, "go", "bin") }

// start starts a command.
func (s *typedShell) start(command string) {
	output, _ := s.read()
	s.seen = len(output)
	if _, err := fmt.Fprintln(s.typed, command); err != nil {
		s.t.Fatal(err)
	}
}

// waitFor waits until wanted accepts the output of a command, and returns the output.
func (s *typedShell) waitFor(command string, wanted func(output string) bool) string {
	s.t.Helper()
	deadline := time.After(5 * time.Minute) // a command may build a program without a build cache
	for {
		output, more := s.read()
		if output = output[s.seen:]; wanted(output) {
			return output
		}
		select {
		case <-more:
		case <-s.exited:
			s.t.Fatalf("$ %s\nended the shell (%v):\n%s", command, s.err, output)
		case <-deadline:
			s.t.Fatalf("$ %s\nis still running; output:\n%s", command, output)
		}
	}
}

// endLine matches the line that the shell prints after a command, with its exit code.
var endLine = regexp.MustCompile(`\n?the-command-ended (\d+)\n$`)

// run runs a command and waits for its end.
func (s *typedShell) run(command string) (output string, code int) {
	s.t.Helper()
	s.start(command + "\nprintf '\\nthe-command-ended %d\\n' $?")
	output = s.waitFor(command, endLine.MatchString)
	code, err := strconv.Atoi(endLine.FindStringSubmatch(output)[1])
	if err != nil {
		s.t.Fatal(err)
	}
	return endLine.ReplaceAllString(output, ""), code
}

// replaceDeclarations replaces declarations of a file by those of the same names in a block.
func replaceDeclarations(file, block string) (string, error) {
	const clause = "package p\n"
	replaced, err := declarations(clause + block)
	if err != nil {
		return "", err
	}
	for name, text := range replaced {
		existing, err := declarations(file)
		if err != nil {
			return "", err
		}
		if existing[name] == "" {
			return "", fmt.Errorf("no declaration of %s to replace", name)
		}
		file = strings.Replace(file, existing[name], text, 1)
	}
	formatted, err := format.Source([]byte(file))
	return string(formatted), err
}

// declarations returns the functions and types of a file, with their comments, by name.
func declarations(text string) (map[string]string, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, declaration := range file.Decls {
		begin, name := declaration.Pos(), ""
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			name = d.Name.Name
			if d.Doc != nil {
				begin = d.Doc.Pos()
			}
		case *ast.GenDecl:
			if d.Tok != token.TYPE {
				continue
			}
			name = d.Specs[0].(*ast.TypeSpec).Name.Name
			if d.Doc != nil {
				begin = d.Doc.Pos()
			}
		}
		found[name] = text[set.Position(begin).Offset:set.Position(declaration.End()).Offset]
	}
	return found, nil
}

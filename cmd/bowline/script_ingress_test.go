package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// ingressPrograms maps variables to programs of examples/ingress. Each variable is set to the path of the
// built program.
var ingressPrograms = map[string]string{"INGRESS": "./examples/ingress/cmd", "BACKEND": "./examples/ingress/backend"}

// TestIngress runs examples/ingress as separate processes or in bowline up: with the scripts
// testdata/ingress/*.txtar, of which those called nginx_* route requests through nginx, and with the commands
// of its README.
func TestIngress(t *testing.T) {
	t.Parallel()
	if inOwnNetwork(t) {
		return
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	variables := map[string]string{"GOCACHE": output(t, root, "go", "env", "GOCACHE")}
	for variable, program := range ingressPrograms {
		variables[variable] = filepath.Join(t.TempDir(), strings.ToLower(variable))
		output(t, root, "go", "build", "-ldflags=-s -w", "-o", variables[variable], program)
	}
	run := func(name, file string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needNginx(t, name)
			testscript.Run(t, testscript.Params{Files: []string{file}, Cmds: ingressCommands,
				Setup: func(env *testscript.Env) error {
					for variable, value := range variables {
						env.Setenv(variable, value)
					}
					if err := os.Symlink(filepath.Join(root, "examples"),
						filepath.Join(env.WorkDir, "examples")); err != nil {
						return err
					}
					if err := setUpScript(env); err != nil {
						return err
					}
					return os.WriteFile(filepath.Join(env.Getenv("HOME"), ".curlrc"), []byte(curlrc), 0o600)
				}})
		})
	}
	scripts, err := filepath.Glob(filepath.Join("testdata", "ingress", "*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("got scripts %q, error %v; want some", scripts, err)
	}
	for _, script := range scripts {
		run(strings.TrimSuffix(filepath.Base(script), ".txtar"), script)
	}
	readme, err := os.ReadFile(filepath.Join("testdata", "examples", "ingress", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	session := filepath.Join(t.TempDir(), "readme.txtar")
	if err := os.WriteFile(session, []byte(ingressScript(string(readme))), 0o600); err != nil {
		t.Fatal(err)
	}
	run("nginx_readme", session)
}

var ingressCommands = map[string]func(*testscript.TestScript, bool, []string){
	"up": cmdUp, "spawn": cmdSpawn, "await": cmdAwait, "down": cmdDown, "kill9": cmdKill9, "like": cmdLike,
	"capture": cmdCapture,
	"answers": cmdAnswers,
}

// curlrc makes curl retry until nginx has loaded its configuration. A user who follows the README would be
// slower than that.
const curlrc = "silent\nshow-error\nfail\nretry = 20\nretry-delay = 1\nretry-all-errors\n"

// needNginx skips a test that routes requests if nginx or curl is missing.
func needNginx(t *testing.T, name string) {
	t.Helper()
	if !strings.HasPrefix(name, "nginx_") {
		return
	}
	for _, places := range [][]string{{"nginx", "/usr/sbin/nginx", "/usr/local/sbin/nginx"}, {"curl"}} {
		if !slices.ContainsFunc(places, func(place string) bool { _, err := exec.LookPath(place); return err == nil }) {
			t.Skipf("%s is missing: apt-get install nginx-light curl", places[0])
		}
	}
}

func output(t *testing.T, dir string, command ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), command[0], command[1:]...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", c, err, out)
	}
	return strings.TrimSpace(string(out))
}

// cmdAnswers polls until a request for a host gets the expected response, because there is no notification
// when nginx has loaded a configuration.
//
//	answers HOST URL STATUS [REGEXP]
func cmdAnswers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || len(args) > 4 {
		ts.Fatalf("usage: answers HOST URL STATUS [REGEXP]")
	}
	wanted, err := strconv.Atoi(args[2])
	ts.Check(err)
	text, err := regexp.Compile(strings.Join(args[3:], ""))
	ts.Check(err)
	var last string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		status, body, err := request(args[0], args[1])
		if err == nil && status == wanted && text.MatchString(body) {
			return
		}
		last = fmt.Sprintf("%d, %v:\n%s", status, err, body)
	}
	ts.Fatalf("%s for %s: want status %d; the last response is %s", args[1], args[0], wanted, last)
}

func request(host, url string) (status int, body string, err error) {
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	r.Host, r.Close = host, true
	answer, err := (&http.Client{Timeout: patience}).Do(r)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), err
}

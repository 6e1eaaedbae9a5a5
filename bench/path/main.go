// Command path counts the functions and files of the server that one request passes: a create and a server-side apply
// of a Deployment, and a watch with its first events. It needs a build that counts:
//
//	cd bench && go run -cover -covermode=atomic \
//	  -coverpkg=github.com/bowline-dev/bowline/internal/server/...,github.com/bowline-dev/bowline/bench/path ./path
//
// With -v it lists the functions. docs/request.md and docs/watch.md have the numbers.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime/coverage"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
)

const prefix = "github.com/bowline-dev/bowline/internal/server/"

func main() {
	verbose := flag.Bool("v", false, "list the functions")
	flag.Parse()
	if err := run(context.Background(), *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "path:", err)
		os.Exit(1)
	}
}

// path is a kind of request. send sends it; the second call is counted, after caches are filled.
type path struct {
	name string
	send func(ctx context.Context, c *http.Client, host string, name string) error
}

func run(ctx context.Context, verbose bool) error {
	plane, err := bowline.Start(ctx, bowline.Options{Controllers: []string{bowline.NoControllers}})
	if err != nil {
		return err
	}
	defer plane.Close()
	config := plane.RESTConfig()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "REQUEST\tFUNCTIONS\tFILES\tAFTER DISPATCH\tFILES")
	var lists strings.Builder
	for _, p := range []path{{"create of a Deployment", create}, {"apply of a Deployment", apply}, {"watch", watch}} {
		if err := p.send(ctx, client, config.Host, "first"); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		time.Sleep(100 * time.Millisecond) // work after the answer
		if err := coverage.ClearCounters(); err != nil {
			return fmt.Errorf("%w: build with -cover -covermode=atomic, see go doc ./path", err)
		}
		if err := p.send(ctx, client, config.Host, "second"); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		time.Sleep(100 * time.Millisecond) // the end of a watch
		functions, err := passed(ctx)
		if err != nil {
			return err
		}
		after := slices.DeleteFunc(slices.Clone(functions), func(f function) bool {
			return !slices.ContainsFunc([]string{"read/", "write/", "render/", "httpapi/watch.go", "httpapi/stream.go"},
				func(part string) bool { return strings.HasPrefix(f.file, part) })
		})
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\n", p.name, len(functions), files(functions), len(after), files(after))
		fmt.Fprintf(&lists, "\n%s\n", p.name)
		for _, f := range functions {
			fmt.Fprintf(&lists, "  %s\t%s\n", f.file, f.name)
		}
	}
	table.Flush()
	if verbose {
		table = tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
		io.WriteString(table, lists.String())
		table.Flush()
	}
	return nil
}

// deployment is what kubectl create deployment sends.
const deployment = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":%q,"labels":{"app":"web"}},"spec":{` +
	`"replicas":1,"selector":{"matchLabels":{"app":"web"}},"strategy":{},"template":{"metadata":{"labels":{"app":"web"}},` +
	`"spec":{"containers":[{"image":"nginx","name":"nginx","resources":{}}]}}}}`

const deployments = "/apis/apps/v1/namespaces/default/deployments"

func create(ctx context.Context, c *http.Client, host, name string) error {
	return send(ctx, c, http.MethodPost, host+deployments, "application/json", fmt.Sprintf(deployment, name))
}

// apply changes the Deployment that create left.
func apply(ctx context.Context, c *http.Client, host, name string) error {
	return send(ctx, c, http.MethodPatch, host+deployments+"/first?fieldManager="+name+"&force=true",
		"application/apply-patch+yaml", strings.Replace(fmt.Sprintf(deployment, "first"), `"replicas":1`,
			fmt.Sprintf(`"replicas":%d`, len(name)), 1))
}

// watch waits for one event. The write that causes it is a delete, whose functions are not counted, since the watch
// begins after the counters were cleared and is read before the delete is.
func watch(ctx context.Context, c *http.Client, host, _ string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, host+deployments+"?watch=1&resourceVersion=0", nil)
	if err != nil {
		return err
	}
	answer, err := c.Do(q)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = answer.Body.Read(make([]byte, 1))
	return err
}

func send(ctx context.Context, c *http.Client, method, url, mediaType, body string) error {
	q, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	q.Header.Set("Content-Type", mediaType)
	q.Header.Set("Accept", "application/json")
	answer, err := c.Do(q)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode >= 300 {
		err = fmt.Errorf("%s: %s", answer.Status, text)
	}
	return err
}

// function is a function of the server that ran.
type function struct{ file, name string }

// passed returns the functions that ran since the counters were cleared, sorted by file.
func passed(ctx context.Context) ([]function, error) {
	dir, err := os.MkdirTemp("", "path-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := coverage.WriteMetaDir(dir); err != nil {
		return nil, err
	}
	if err := coverage.WriteCountersDir(dir); err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(ctx, "go", "tool", "covdata", "func", "-i", dir).Output()
	if err != nil {
		return nil, fmt.Errorf("go tool covdata: %w", err)
	}
	var ran []function
	for line := range bytes.Lines(out) {
		columns := strings.Fields(string(line)) // FILE:LINE: FUNCTION 12.3%
		file, ok := strings.CutPrefix(columns[0], prefix)
		if !ok || columns[2] == "0.0%" {
			continue
		}
		file, _, _ = strings.Cut(file, ":")
		ran = append(ran, function{file, columns[1]})
	}
	slices.SortFunc(ran, func(a, b function) int { return strings.Compare(a.file+a.name, b.file+b.name) })
	return ran, nil
}

func files(functions []function) int {
	seen := map[string]bool{}
	for _, f := range functions {
		seen[f.file] = true
	}
	return len(seen)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/cli"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/connect"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/state"
	"github.com/bowline-dev/bowline/examples/network"
	"github.com/bowline-dev/bowline/internal/auth/pki"
	"github.com/bowline-dev/bowline/internal/why"
)

// fail ends a program of the scripts if err is not nil.
func fail(err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(os.Args[0]), err)
		os.Exit(cli.ExitFailure)
	}
}

// restConfig returns the configuration in the kubeconfig named by KUBECONFIG.
func restConfig() *rest.Config {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv(connect.KubeconfigVariable))
	fail(err)
	config.QPS = -1
	return config
}

// kubeconfigForMain writes a kubeconfig for another user of the server in the state folder, and prints its
// path.
//
//	kubeconfig-for NAME [GROUP...]
func kubeconfigForMain() {
	folder, err := state.Default()
	fail(err)
	keys, err := pki.Open(folder.Certificates(), nil)
	fail(err)
	pair, err := keys.IssueClient(os.Args[1], os.Args[2:]...)
	fail(err)
	key, err := pair.KeyPEM()
	fail(err)
	file := filepath.Join(os.Getenv("WORK"), os.Args[1]+".kubeconfig")
	fail(state.WriteKubeconfig(file, state.Access{
		Server: restConfig().Host, Authority: keys.AuthorityPEM(), Certificate: pair.CertPEM(), Key: key,
	}))
	fmt.Println(file)
}

// replaceTextMain replaces a text in a file. Scripts use it as the editor of kubectl edit.
//
//	replace-text OLD NEW FILE
func replaceTextMain() {
	old, replacement, path := os.Args[1], os.Args[2], os.Args[3]
	text, err := os.ReadFile(path)
	fail(err)
	if !strings.Contains(string(text), old) {
		fail(fmt.Errorf("%s does not contain %q:\n%s", path, old, text))
	}
	fail(os.WriteFile(path, []byte(strings.ReplaceAll(string(text), old, replacement)), 0o600))
}

// showDiffMain compares the files of two folders, and exits like diff. Scripts use it as the diff program of
// kubectl diff. A file that exists in one folder only is compared with an empty one.
//
//	show-diff FOLDER FOLDER
func showDiffMain() {
	code := cli.ExitOK
	names := map[string]bool{}
	for _, folder := range os.Args[1:] {
		entries, err := os.ReadDir(folder)
		fail(err)
		for _, entry := range entries {
			names[entry.Name()] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		before, after := readIfThere(os.Args[1], name), readIfThere(os.Args[2], name)
		if text := diff.Diff("live", before, "merged", after); len(text) > 0 {
			os.Stdout.Write(text) //nolint:errcheck // a script sees what is missing
			code = cli.ExitFailure
		}
	}
	os.Exit(code)
}

func readIfThere(folder, name string) []byte {
	text, err := os.ReadFile(filepath.Join(folder, name))
	if !os.IsNotExist(err) {
		fail(err)
	}
	return text
}

// stubbornMain hangs after the first signal.
//
//	stubborn
func stubbornMain() {
	fail(cli.UntilSignal(context.Background(), func(ctx context.Context) error {
		fmt.Println("running")
		<-ctx.Done()
		fmt.Println("asked to stop")
		select {}
	}))
}

// bigMain prints a ConfigMap of about BYTES bytes.
//
//	big BYTES
func bigMain() {
	size, err := strconv.Atoi(os.Args[1])
	fail(err)
	fmt.Printf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"big"},"data":{"x":"%s"}}`,
		strings.Repeat("x", size))
}

// networkMain runs the network controller with the record provider as a separate process.
//
//	network FOLDER
func networkMain() {
	fail(cli.UntilSignal(context.Background(), func(ctx context.Context) error {
		return network.Run(ctx, network.Options{
			Config: restConfig(), Provider: network.ProviderRecord, Folder: os.Args[1], Forward: why.Path,
			Log: slog.New(slog.NewTextHandler(os.Stdout, nil)),
		})
	}))
}

// exitCodeMain runs a program, and fails unless its exit code is CODE.
//
//	exit-code CODE PROGRAM [ARGUMENT...]
func exitCodeMain() {
	want, err := strconv.Atoi(os.Args[1])
	fail(err)
	program := exec.Command(os.Args[2], os.Args[3:]...)
	program.Stdout, program.Stderr = os.Stdout, os.Stderr
	var exit *exec.ExitError
	if err := program.Run(); err != nil && !errors.As(err, &exit) {
		fail(err)
	}
	if got := program.ProcessState.ExitCode(); got != want {
		fail(fmt.Errorf("%s exited with %d", os.Args[2:], got))
	}
}

package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const kubeconfig = `
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: secret}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`

func TestMasterOverridesKubeconfig(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"https://127.0.0.1:1": {"--kubeconfig", file},
		"https://127.0.0.1:2": {"--kubeconfig", file, "--master", "https://127.0.0.1:2"},
	} {
		a, err := parse(args)
		if err != nil {
			t.Fatal(err)
		}
		config, err := a.config()
		if err != nil || config.Host != want || config.BearerToken != "secret" || config.QPS != -1 {
			t.Errorf("arguments %q: got config %+v, %v", args, config, err)
		}
	}
}

func TestInvalidArguments(t *testing.T) {
	t.Parallel()
	quiet := slog.New(slog.DiscardHandler)
	missing := filepath.Join(t.TempDir(), "none")
	if err := run([]string{"--kubeconfig", missing}, quiet); err == nil ||
		!strings.Contains(err.Error(), "--kubeconfig") {
		t.Errorf("missing kubeconfig: got error %v", err)
	}
	if err := run([]string{"up"}, quiet); err == nil || !strings.Contains(err.Error(), `unexpected argument "up"`) {
		t.Errorf("an argument that is not a flag: got error %v", err)
	}
}

func TestDefaultStateFolder(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/x")
	if got, err := (arguments{}).folder(); err != nil || got != "/x/bowline/networks" {
		t.Errorf("the default folder: got %s, %v", got, err)
	}
	if got, err := (arguments{state: "/y"}).folder(); err != nil || got != "/y" {
		t.Errorf("with --state=/y: got %s, %v", got, err)
	}
}

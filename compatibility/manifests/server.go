package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/node/simulated"
)

// programs are the files of the programs that the command builds.
type programs struct{ bowline, helm string }

// build builds the programs in a folder, except bowline if the caller has one.
func build(ctx context.Context, dir, bowline string) (programs, error) {
	built := programs{bowline, filepath.Join(dir, "helm")}
	packages := map[string]string{built.helm: "helm.sh/helm/v4/cmd/helm"}
	if bowline == "" {
		built.bowline = filepath.Join(dir, "bowline")
		packages[built.bowline] = "github.com/bowline-dev/bowline/cmd/bowline"
	}
	for file, pkg := range packages {
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", file, pkg).CombinedOutput(); err != nil {
			return built, fmt.Errorf("building %s: %w\n%s", pkg, err, out)
		}
	}
	return built, nil
}

// way is a way to run a plane: start returns when the plane is ready, and has written a kubeconfig.
type way struct {
	name  string
	start func(ctx context.Context, p programs, kubeconfig string) (stop func() error, err error)
}

var ways = []way{{"up", startProcess}, {"library", startLibrary}}

// startProcess starts bowline up with a simulated node, on which the jobs of charts end.
func startProcess(ctx context.Context, p programs, kubeconfig string) (stop func() error, err error) {
	command := exec.CommandContext(ctx, p.bowline, "up", "--ephemeral", "--nodes", "1", "--listen", "127.0.0.1:0",
		"--kubeconfig", kubeconfig)
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var failure strings.Builder
	command.Stderr = &failure
	if err := command.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(output)
	if first, err := lines.ReadString('\n'); err != nil || !strings.Contains(first, "ready in") {
		return nil, errors.Join(fmt.Errorf("bowline up did not become ready: %q\n%s", first, &failure), err,
			command.Process.Kill(), command.Wait())
	}
	go io.Copy(io.Discard, lines) //nolint:errcheck // ends with the process
	return func() error {
		if err := command.Process.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		return command.Wait()
	}, nil
}

// startLibrary starts a plane in this process, with all controllers and a simulated node.
func startLibrary(ctx context.Context, _ programs, kubeconfig string) (stop func() error, err error) {
	plane, err := bowline.Start(ctx, bowline.Options{Listen: "127.0.0.1:0", Controllers: []string{"*"}})
	if err != nil {
		return nil, err
	}
	config, err := plane.SocketConfig()
	if err == nil {
		err = write(config, kubeconfig)
	}
	nodes, newErr := controller.NewManager(plane.RESTConfig(), controller.ManagerOptions{Source: plane.Source()})
	if err = errors.Join(err, newErr); err != nil {
		return nil, errors.Join(err, plane.Close())
	}
	simulated.Add(nodes, simulated.Options{Nodes: 1})
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- nodes.Run(ctx) }()
	return func() error {
		cancel()
		return errors.Join(<-ended, plane.Close())
	}, nil
}

// write writes a kubeconfig.
func write(config *rest.Config, file string) error {
	return clientcmd.WriteToFile(api.Config{
		Clusters: map[string]*api.Cluster{"c": {Server: config.Host, CertificateAuthorityData: config.CAData}},
		AuthInfos: map[string]*api.AuthInfo{"u": {ClientCertificateData: config.CertData,
			ClientKeyData: config.KeyData}},
		Contexts:       map[string]*api.Context{"x": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "x",
	}, file)
}

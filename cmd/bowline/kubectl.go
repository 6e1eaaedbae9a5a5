package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/plugin"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/state"
)

// kubeconfigVariable is where kubectl looks for its configuration first.
const kubeconfigVariable = "KUBECONFIG"

func kubectlCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl [command] [flags]",
		Short: "Run kubectl, which is built in, against the running server",
		Long: `Runs the kubectl that is built into bowline. Where neither KUBECONFIG nor --kubeconfig says otherwise, it talks to the
server that bowline up started on this machine, and never to a cluster that ~/.kube/config may name.

A symbolic link named kubectl to bowline behaves the same. Exit codes are kubectl's. What bowline completion prints
completes command lines of bowline kubectl too; for the link there is kubectl completion.`,
		Example: `  bowline kubectl get networks -A
  bowline kubectl apply -f network.yaml
  bowline kubectl explain pod.spec.containers`,
		DisableFlagParsing: true,
		Run:                func(_ *cobra.Command, args []string) { runKubectl(args) },
	}
}

// asKubectl reports whether this process is kubectl from the beginning, and with which arguments: when it is called so,
// and when a shell asks it to complete a command line that begins with bowline kubectl, which only kubectl can.
func asKubectl(program string, args []string) (kubectlArgs []string, ok bool) {
	if filepath.Base(program) == "kubectl" {
		return args, true
	}
	completing := len(args) > 2 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
	if completing && args[1] == "kubectl" {
		return slices.Concat(args[:1], args[2:]), true
	}
	return nil, false
}

// runKubectl is kubectl's own main; it may end the process.
func runKubectl(args []string) {
	os.Args = append([]string{"kubectl"}, args...) // kubectl reads it in several places
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	access := genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag().WithDiscoveryBurst(300).WithDiscoveryQPS(50).
		WithWarningPrinter(streams)
	failures := kubectlFailures{access: access}
	findServer(&failures)
	cmdutil.BehaviorOnFatal(failures.end)
	if err := setKubectlVersion(); err != nil {
		fmt.Fprintf(os.Stderr, "bowline: %v\n", err)
	}

	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommandWithArgs(cmd.KubectlOptions{
		PluginHandler: cmd.NewDefaultPluginHandler(plugin.ValidPluginFilenamePrefixes), Arguments: os.Args,
		ConfigFlags: access, IOStreams: streams,
	})); err != nil {
		cmdutil.CheckErr(err)
	}
}

// findServer points kubectl at this machine's server when nothing else is asked for.
func findServer(failures *kubectlFailures) {
	if os.Getenv(kubeconfigVariable) != "" {
		return
	}
	folder, err := state.Default()
	if err != nil {
		fmt.Fprintf(os.Stderr, "bowline: %v\n", err)
		os.Exit(exitFailure)
	}
	path := folder.Kubeconfig()
	holder, running, err := folder.Running()
	if running && holder.Kubeconfig != "" {
		path = holder.Kubeconfig
	}
	os.Setenv(kubeconfigVariable, path)
	if !running {
		failures.missing, failures.lookErr = folder, err
		clientcmd.ClusterDefaults.Server = "" // or kubectl falls back to a server that happens to listen on localhost:8080
	}
}

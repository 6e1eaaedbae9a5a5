// Package kubectl implements bowline kubectl, which runs kubectl against the running server.
package kubectl

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	kubecli "k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/plugin"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/cli"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/connect"
	_ "github.com/bowline-dev/bowline/cmd/bowline/internal/kubectl/translations" // not loaded by other commands
	"github.com/bowline-dev/bowline/cmd/bowline/internal/state"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/terminal"
)

// Command returns the bowline kubectl command.
func Command() *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl [command] [flags]",
		Short: "Run the built-in kubectl with the running server",
		Long: `Runs the kubectl that is built into bowline. Unless KUBECONFIG or --kubeconfig is set, it
connects to the server that bowline up started on this machine, and never to the clusters of
~/.kube/config.

A symbolic link to bowline with the name kubectl works in the same way. Exit codes are those
of kubectl. The script of bowline completion also completes the arguments of bowline
kubectl; use kubectl completion for the link.`,
		Example: `  bowline kubectl get networks -A
  bowline kubectl apply -f network.yaml
  bowline kubectl explain pod.spec.containers`,
		DisableFlagParsing: true,
		Run:                func(_ *cobra.Command, args []string) { Run(args) },
	}
}

// Arguments returns kubectl's arguments if this process must run as kubectl: if the program is called
// kubectl, or if a shell requests the completion of a command line that starts with bowline kubectl.
func Arguments(program string, args []string) (kubectlArgs []string, ok bool) {
	if filepath.Base(program) == "kubectl" {
		return args, true
	}
	completing := len(args) > 2 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
	if completing && args[1] == "kubectl" {
		return slices.Concat(args[:1], args[2:]), true
	}
	return nil, false
}

// Run runs kubectl's main function, which may end the process.
func Run(args []string) {
	os.Args = append([]string{"kubectl"}, args...) // kubectl reads it in several places
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	access := genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag().
		WithDiscoveryBurst(300).WithDiscoveryQPS(50).
		WithWarningPrinter(streams)
	failures := failureReporter{access: access}
	useLocalServer(&failures)
	cmdutil.BehaviorOnFatal(failures.exit)
	if err := setVersion(); err != nil {
		terminal.PrintError(os.Stderr, err)
	}

	if err := kubecli.RunNoErrOutput(cmd.NewDefaultKubectlCommandWithArgs(cmd.KubectlOptions{
		PluginHandler: cmd.NewDefaultPluginHandler(plugin.ValidPluginFilenamePrefixes), Arguments: os.Args,
		ConfigFlags: access, IOStreams: streams,
	})); err != nil {
		cmdutil.CheckErr(err)
	}
}

// useLocalServer points kubectl at the server of the user's state folder unless KUBECONFIG is set.
func useLocalServer(failures *failureReporter) {
	if os.Getenv(connect.KubeconfigVariable) != "" {
		return
	}
	folder, err := state.Default()
	if err != nil {
		terminal.PrintError(os.Stderr, err)
		os.Exit(cli.ExitFailure)
	}
	path := folder.Kubeconfig()
	holder, running, err := folder.Running()
	if running && holder.Kubeconfig != "" {
		path = holder.Kubeconfig
	}
	if _, theirs := errors.AsType[*state.OwnerError](err); theirs {
		path = os.DevNull // another user could have written the kubeconfig of the folder, too
	}
	os.Setenv(connect.KubeconfigVariable, path)
	if !running {
		failures.missing, failures.lookErr = folder, err
		// Prevent kubectl's fallback to localhost:8080, where some other server may listen.
		clientcmd.ClusterDefaults.Server = ""
	}
}

// Package version implements bowline version.
package version

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/cli"
)

// Command returns the bowline version command.
func Command() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of bowline and of its Kubernetes API",
		Example: `  bowline version

  # As JSON.
  bowline version -o json

  # The versions of a running server and of kubectl.
  bowline kubectl version`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return printVersions(cmd.OutOrStdout(), output) },
	}
	cli.AddOutput(cmd, &output)
	return cmd
}

func printVersions(to io.Writer, output string) error {
	if err := cli.OneOf("output", output, cli.Outputs); err != nil {
		return err
	}
	bowline, kubernetes := Current()
	if output == "json" {
		return cli.PrintJSON(to, map[string]string{"bowline": bowline, "kubernetes": kubernetes,
			"go": runtime.Version()})
	}
	_, err := fmt.Fprintf(to, "bowline     %s\nkubernetes  %s\ngo          %s\n", bowline, kubernetes,
		runtime.Version())
	return err
}

// Current returns the versions of bowline and of the Kubernetes API that it serves, or "unknown" without
// build information.
func Current() (bowline, kubernetes string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown", "unknown"
	}
	return bowlineVersion(info), Kubernetes(info)
}

// bowlineVersion returns the installed version, or the commit of a development build.
func bowlineVersion(info *debug.BuildInfo) string {
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && info.Main.Version == "(devel)" {
			return "devel " + setting.Value
		}
	}
	return info.Main.Version
}

// Kubernetes returns the Kubernetes version whose libraries are linked. Version v0.37.2 of a library belongs
// to Kubernetes v1.37.2.
func Kubernetes(info *debug.BuildInfo) string {
	for _, module := range info.Deps {
		if module.Path == "k8s.io/client-go" {
			return "v1" + module.Version[len("v0"):]
		}
	}
	return "unknown"
}

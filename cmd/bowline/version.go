package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func versionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of bowline and of the Kubernetes API that it serves",
		Example: `  bowline version

  # For a program.
  bowline version -o json

  # What a running server says, and what kubectl is.
  bowline kubectl version`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return printVersions(cmd.OutOrStdout(), output) },
	}
	addOutput(cmd, &output)
	return cmd
}

func printVersions(to io.Writer, output string) error {
	if err := oneOf("output", output, outputs); err != nil {
		return err
	}
	bowline, kubernetes := versions()
	if output == "json" {
		return printJSON(to, map[string]string{"bowline": bowline, "kubernetes": kubernetes, "go": runtime.Version()})
	}
	_, err := fmt.Fprintf(to, "bowline     %s\nkubernetes  %s\ngo          %s\n", bowline, kubernetes, runtime.Version())
	return err
}

// versions are those of bowline and of the Kubernetes API that it serves.
func versions() (bowline, kubernetes string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown", "unknown"
	}
	return bowlineOf(info), kubernetesOf(info)
}

// bowlineOf is the version that was installed, or the commit that was built.
func bowlineOf(info *debug.BuildInfo) string {
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && info.Main.Version == "(devel)" {
			return "devel " + setting.Value
		}
	}
	return info.Main.Version
}

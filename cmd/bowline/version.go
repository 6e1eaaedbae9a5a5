package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of bowline and of the Kubernetes API that it serves",
		Example: `  bowline version

  # What a running server says, and what kubectl is.
  bowline kubectl version`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			bowline, kubernetes := versions()
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "bowline     %s\nkubernetes  %s\ngo          %s\n",
				bowline, kubernetes, runtime.Version())
			return err
		},
	}
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

package cli

import (
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Outputs are the output formats of commands.
var Outputs = []string{"text", "json"}

// AddOutput adds the flag --output to a command.
func AddOutput(cmd *cobra.Command, output *string) {
	cmd.Flags().StringVarP(output, "output", "o", Outputs[0],
		"`format` of the output: "+strings.Join(Outputs, ", "))
	CompleteFlag(cmd, "output", Outputs)
}

// AddKubeconfig adds the flag --kubeconfig to a command.
func AddKubeconfig(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "kubeconfig", "",
		"kubeconfig `file` of the server (default: as for bowline kubectl)")
}

// OneOf returns a usage error unless the value of a flag is one of values.
func OneOf(flag, value string, values []string) error {
	if slices.Contains(values, value) {
		return nil
	}
	return Usagef("invalid --%s %q: must be one of %s", flag, value, strings.Join(values, ", "))
}

// CompleteFlag registers values for the shell completion of a flag. The flag must be defined.
func CompleteFlag(cmd *cobra.Command, flag string, values []string) {
	complete := func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return values, cobra.ShellCompDirectiveNoFileComp
	}
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // the flag is not defined
	}
}

// PrintJSON prints a value as indented JSON.
func PrintJSON(to io.Writer, value any) error {
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

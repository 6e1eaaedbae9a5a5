package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/internal/printable"
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
	CompleteFlagFunc(cmd, flag, func() []string { return values })
}

// CompleteFlagFunc does the same as CompleteFlag, with values that are computed only for a completion.
func CompleteFlagFunc(cmd *cobra.Command, flag string, values func() []string) {
	complete := func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return values(), cobra.ShellCompDirectiveNoFileComp
	}
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // the flag is not defined
	}
}

// PrintJSON prints a value as indented JSON, with all characters escaped that must not reach a terminal.
func PrintJSON(to io.Writer, value any) error { return printJSON(to, value, "  ") }

// PrintJSONLine does the same as PrintJSON, but on one line.
func PrintJSONLine(to io.Writer, value any) error { return printJSON(to, value, "") }

func printJSON(to io.Writer, value any, indent string) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", indent)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	_, err := to.Write(printable.JSON(text.Bytes()))
	return err
}

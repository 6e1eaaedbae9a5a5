package main

import (
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// outputs are the formats that a command prints for people and for programs.
var outputs = []string{"text", "json"}

// addOutput gives a command the flag that says in which of the outputs it prints.
func addOutput(cmd *cobra.Command, output *string) {
	cmd.Flags().StringVarP(output, "output", "o", outputs[0], "`format` of what is printed: "+strings.Join(outputs, ", "))
	complete(cmd, "output", outputs)
}

// addKubeconfig gives a command the flag that says which server it asks.
func addKubeconfig(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "kubeconfig", "",
		"`file` that says how to reach the server (default: as bowline kubectl finds it)")
}

// oneOf is an error unless a flag has one of its values.
func oneOf(flag, value string, values []string) error {
	if slices.Contains(values, value) {
		return nil
	}
	return usagef("--%s is %q: it must be one of %s", flag, value, strings.Join(values, ", "))
}

// complete offers these values to the shell's completion.
func complete(cmd *cobra.Command, flag string, values []string) {
	offer := func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return values, cobra.ShellCompDirectiveNoFileComp
	}
	if err := cmd.RegisterFlagCompletionFunc(flag, offer); err != nil {
		panic(err) // the flag is defined right above
	}
}

// printJSON prints what a program reads.
func printJSON(to io.Writer, what any) error {
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	return encoder.Encode(what)
}

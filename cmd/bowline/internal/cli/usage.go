// Package cli contains code shared by all commands of bowline: usage errors, exit codes, common flags, and
// signal handling.
package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Exit codes, as documented in the help of the root command.
const (
	ExitOK      = 0
	ExitFailure = 1
	ExitUsage   = 2
	ExitFound   = 3 // only of verify, diff-forks and doctor, whose help documents it
)

// ErrFound is returned by a command that searched for problems or differences and found some.
var ErrFound = errors.New("something was found")

// UsageError reports an invalid command line.
type UsageError struct{ err error }

func (e *UsageError) Error() string { return e.err.Error() }

func (e *UsageError) Unwrap() error { return e.err }

// Usagef returns a *UsageError with a formatted message.
func Usagef(format string, args ...any) error {
	return &UsageError{err: fmt.Errorf(format, args...)}
}

// KnownSubcommand rejects an unknown command, and suggests similar ones.
func KnownSubcommand(root *cobra.Command, args []string) error {
	err := cobra.NoArgs(root, args)
	if err == nil {
		return nil
	}
	if near := root.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("%w: did you mean %s?", err, strings.Join(near, " or "))
	}
	return err
}

// ReportUsageErrors makes invalid arguments of cmd and its subcommands a *UsageError, so that the exit code
// is the same as for invalid flags.
func ReportUsageErrors(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return Usagef("%w (see %s --help)", err, cmd.CommandPath())
			}
			return nil
		}
	}
	for _, child := range cmd.Commands() {
		ReportUsageErrors(child)
	}
}

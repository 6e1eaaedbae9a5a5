package fork

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/cli"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/connect"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/difference"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/source"
	"github.com/bowline-dev/bowline/internal/store/backup"
)

// diffFlags holds the parsed flags of bowline diff-forks.
type diffFlags struct {
	output string
	patch  bool
}

// DiffCommand returns the bowline diff-forks command.
func DiffCommand() *cobra.Command {
	var flags diffFlags
	cmd := &cobra.Command{
		Use:   "diff-forks [[A] B]",
		Short: "Compare a server with its fork",
		Long: `Compares two planes object by object, and prints the objects that B has in addition, lacks,
or has with other content than A. A and B are the kubeconfigs of running servers or files
written by bowline backup. A defaults to the server of the user's state folder, and B to the
server that KUBECONFIG names.

Fields that change with every write (resourceVersion, managedFields) are ignored. So are
events that only one plane has because they have expired in the other: a fork keeps the
events that it started with. The values of Secrets are masked as *** in every output; of a
value that differs, *** (before) and *** (after) say so. A patch of a Secret can therefore
not be applied.

Exit codes: 0 the planes are equal; 3 they differ; 1 failure; 2 invalid command line.`,
		Example: `  # Compare the running server with the fork that KUBECONFIG names.
  bowline diff-forks

  # Print each change as a unified diff.
  bowline diff-forks --patch ./fork

  # What has changed since a backup, as JSON.
  bowline diff-forks -o json plane.backup ~/.local/state/bowline/kubeconfig`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.OneOf("output", flags.output, cli.Outputs); err != nil {
				return err
			}
			if flags.patch && flags.output == "json" {
				return cli.Usagef("--patch and --output json exclude each other: omit one of them")
			}
			return cli.UntilSignal(cmd.Context(), func(ctx context.Context) error {
				return flags.run(ctx, cmd.OutOrStdout(), args)
			})
		},
	}
	cli.AddOutput(cmd, &flags.output)
	cmd.Flags().BoolVar(&flags.patch, "patch", false, "print each object that differs as a unified diff")
	return cmd
}

func (f *diffFlags) run(ctx context.Context, to io.Writer, args []string) (err error) {
	a, b, err := planeArguments(args)
	if err != nil {
		return err
	}
	before, closeBefore, err := openPlane(ctx, a)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeBefore()) }()
	after, closeAfter, err := openPlane(ctx, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAfter()) }()
	var changes []difference.Change
	for change, err := range difference.Between(before, after) {
		if err != nil {
			return fmt.Errorf("comparing %s and %s: %w", a, b, err)
		}
		changes = append(changes, change)
	}
	if err := f.print(to, changes); err != nil {
		return err
	}
	if len(changes) > 0 {
		return cli.ErrFound
	}
	return nil
}

// planeArguments returns the paths of the two backups or kubeconfigs to compare, with the documented
// defaults.
func planeArguments(args []string) (a, b string, err error) {
	if len(args) == 2 {
		return args[0], args[1], nil
	}
	if a, err = connect.RunningKubeconfig(); err != nil {
		return "", "", err
	}
	if len(args) == 1 {
		return a, args[0], nil
	}
	b = os.Getenv(connect.KubeconfigVariable)
	if b == "" {
		return "", "",
			cli.Usagef("nothing to compare with: pass the kubeconfig of a fork, or set KUBECONFIG to it")
	}
	return a, b, nil
}

// openPlane opens the state in a file: a backup, or the current state of the server that a kubeconfig names.
// It fails if the state contains damaged objects. The caller calls the returned function to close it.
func openPlane(ctx context.Context, path string) (*backup.Reader, func() error, error) {
	r, closed, err := openState(ctx, path)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if damaged := r.Head().Damaged; len(damaged) > 0 {
		err := fmt.Errorf("%s: %d objects are damaged, %s first: run bowline verify to list them", path, len(damaged),
			damaged[0])
		return nil, nil, errors.Join(err, closed())
	}
	return r, closed, nil
}

func openState(ctx context.Context, path string) (*backup.Reader, func() error, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	r, err := backup.Open(file)
	if err == nil {
		return r, file.Close, nil
	}
	if err := file.Close(); err != nil {
		return nil, nil, err
	}
	if !errors.Is(err, backup.ErrForeign) {
		return nil, nil, err
	}
	stream, err := source.OpenServer(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	if r, err = backup.Open(stream); err != nil {
		return nil, nil, errors.Join(err, stream.Close())
	}
	return r, stream.Close, nil
}

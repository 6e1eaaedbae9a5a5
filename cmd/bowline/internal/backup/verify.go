package backup

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/cli"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/source"
	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server"
	"github.com/bowline-dev/bowline/internal/server/operations"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/backup"
)

// verifyFlags holds the parsed flags of bowline verify.
type verifyFlags struct {
	data, kubeconfig, output string
}

// VerifyCommand returns the bowline verify command.
func VerifyCommand() *cobra.Command {
	var flags verifyFlags
	cmd := &cobra.Command{
		Use:   "verify [FILE]",
		Short: "Check the state of a server, a state folder or a backup",
		Long: `Checks all objects of a backup, of a state folder that no server uses (--data) or, by
default, of the running server, and prints a table of the problems:

  damaged        the checksum does not match, and the object cannot be read
  inconsistent   it is stored under another name, uid or revision than its own
  no-owner       an owner of it does not exist
  no-namespace   its namespace does not exist
  no-definition  it is a custom resource without a definition, or of a version
                 that the definition lacks
  lost-claim     an address or port of it could be given to another object, or it
                 is a claim without an owner
  invalid        it does not decode, or violates the rules or schema of its kind

Nothing is changed, and a problem of one object does not stop the check of the others. To
repair a damaged object, restore a backup or delete the object: see bowline up
--accept-damage.

Exit codes: 0 no problems; 1 the check failed; 2 invalid command line; 3 problems were
found.`,
		Example: `  # The running server.
  bowline verify

  # A backup, before it is needed.
  bowline verify plane.backup

  # A state folder that no server uses, as JSON.
  bowline verify --data ./plane -o json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.check(args); err != nil {
				return err
			}
			return cli.UntilSignal(cmd.Context(), func(ctx context.Context) error { return flags.run(ctx, cmd, args) })
		},
	}
	cmd.Flags().StringVar(&flags.data, "data", "", "check a state `folder` that no server uses")
	cli.AddKubeconfig(cmd, &flags.kubeconfig)
	cli.AddOutput(cmd, &flags.output)
	return cmd
}

// check rejects flags and arguments that contradict each other.
func (f *verifyFlags) check(args []string) error {
	sources := len(args)
	for _, flag := range []string{f.data, f.kubeconfig} {
		if flag != "" {
			sources++
		}
	}
	if sources > 1 {
		return cli.Usagef("FILE, --data and --kubeconfig exclude each other: give only one of them")
	}
	return cli.OneOf("output", f.output, cli.Outputs)
}

func (f *verifyFlags) run(ctx context.Context, cmd *cobra.Command, args []string) error {
	stream, err := f.stream(ctx, args, cmd.InOrStdin())
	if err != nil {
		return err
	}
	v, err := verify(ctx, stream)
	if err = errors.Join(err, stream.Close()); err != nil {
		if ctx.Err() != nil {
			return errors.New("stopped before all objects were checked")
		}
		return fmt.Errorf("checking failed: %w", err)
	}
	if err := v.print(cmd.OutOrStdout(), f.output); err != nil {
		return err
	}
	if len(v.Findings) > 0 {
		return cli.ErrFound
	}
	return nil
}

func (f *verifyFlags) stream(ctx context.Context, args []string, stdin io.Reader) (io.ReadCloser, error) {
	switch {
	case len(args) == 1:
		return source.OpenFile(args[0], stdin)
	case f.data != "":
		return source.OpenFolder(ctx, f.data, false)
	}
	return source.OpenServer(ctx, f.kubeconfig)
}

// verify returns the problems in the state of a backup. It loads the state into a server in memory, because
// the server knows the kinds and their rules. This server does not listen for requests.
func verify(ctx context.Context, stream io.Reader) (*verification, error) {
	r, err := backup.Open(stream)
	if err != nil {
		return nil, err
	}
	l := r.Log()
	l.AcceptInconsistent = true // the server's check reports them
	s, err := store.New(ctx, l, store.Options{AcceptDamage: true})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	snapshot, err := s.Snapshot(ctx, store.Latest())
	if err != nil {
		return nil, err
	}
	srv, err := server.New(ctx, server.Options{
		Store: s, Kinds: kind.NewRegistry(builtin.Kinds(object.NewCache(0))...),
		Authenticator: auth.Anonymous(), Authorizer: auth.PublicPaths(),
	})
	if err != nil {
		return nil, err
	}
	defer srv.Close()
	v := &verification{Head: r.Head(), Findings: []finding{}}
	for _, damage := range l.Nameless {
		v.add(operations.Finding{Problem: operations.Damaged, Message: damage.Error()})
	}
	for f, err := range srv.Verify(ctx, snapshot) {
		if err != nil {
			return nil, err
		}
		v.add(f)
	}
	return v, nil
}

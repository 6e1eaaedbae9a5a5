// Package backup implements bowline backup, restore and verify.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/cli"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/source"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/terminal"
	"github.com/bowline-dev/bowline/internal/durable"
	"github.com/bowline-dev/bowline/internal/store/backup"
)

// backupFlags holds the parsed flags of bowline backup.
type backupFlags struct {
	data, kubeconfig    string
	force, acceptDamage bool
}

// Command returns the bowline backup command.
func Command() *cobra.Command {
	var flags backupFlags
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write the state of a server or a state folder to a file",
		Long: `Writes all objects, as of one revision, to a file with checksums. The source is a running
server, which continues to serve and write meanwhile, or, with --data, a state folder that
no server uses. The server is the one that bowline kubectl uses, or the one that KUBECONFIG
or --kubeconfig names; only its administrators may back it up.

The backup is written to a temporary file in the same folder and verified while it is
written. The file is renamed when it is complete and durable. It contains everything in
plain text, Secrets too, and only its owner may read it. If FILE is -, the backup goes to
standard output.

A backup contains neither certificates nor the history of changes. bowline restore creates a
state folder from it, and bowline verify checks it.

Exit codes: 0 the backup is complete; 1 failure, and no file was written; 2 invalid command
line.`,
		Example: `  # Of the running server.
  bowline backup plane.backup

  # Compressed, to another machine.
  bowline backup - | zstd | ssh other 'cat > plane.backup.zst'

  # Of a state folder that no server uses.
  bowline backup --data ./plane plane.backup`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.data != "" && flags.kubeconfig != "" {
				return cli.Usagef("--data and --kubeconfig exclude each other: omit one of them")
			}
			return cli.UntilSignal(cmd.Context(), func(ctx context.Context) error {
				return flags.run(ctx, cmd, args[0])
			})
		},
	}
	set := cmd.Flags()
	set.StringVar(&flags.data, "data", "",
		"state `folder` that no server uses (default: read from a running server)")
	cli.AddKubeconfig(cmd, &flags.kubeconfig)
	set.BoolVar(&flags.force, "force", false, "replace FILE if it exists")
	set.BoolVar(&flags.acceptDamage, "accept-damage", false,
		"back up without the objects that cannot be read")
	return cmd
}

func (f *backupFlags) run(ctx context.Context, cmd *cobra.Command, path string) error {
	if path == source.StandardStream {
		out := cmd.OutOrStdout()
		if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
			return cli.Usagef("standard output is a terminal, and a backup is binary: name a file, or use a pipe")
		}
		return f.copy(ctx, terminal.NewScreen(cmd.ErrOrStderr(), cmd.ErrOrStderr()), out, "standard output")
	}
	if err := f.checkTarget(path); err != nil {
		return err
	}
	// CreateTemp makes the file accessible to its owner only.
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("writing the backup: %w", err)
	}
	defer os.Remove(file.Name())
	err = f.copy(ctx, terminal.NewScreen(cmd.OutOrStdout(), cmd.ErrOrStderr()), file, path)
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := f.checkTarget(path); err != nil { // check again: another process may have created the file
		return err
	}
	if err := durable.Rename(file.Name(), path); err != nil {
		return fmt.Errorf("writing the backup: %w", err)
	}
	return nil
}

// checkTarget returns an error if the backup must not be written to path.
func (f *backupFlags) checkTarget(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("writing the backup: %w", err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s exists and is not a regular file: name another one", path)
	case !f.force:
		return fmt.Errorf("%s exists: name another file, or replace it with --force", path)
	}
	return nil
}

// copy writes the backup to w and verifies it while copying.
func (f *backupFlags) copy(ctx context.Context, to *terminal.Screen, w io.Writer, path string) error {
	start := time.Now()
	stream, err := f.stream(ctx)
	if err != nil {
		return err
	}
	out := &byteCounter{Writer: w}
	head, err := f.check(to, io.TeeReader(stream, out))
	if err = errors.Join(err, stream.Close()); err != nil {
		if ctx.Err() != nil {
			return errors.New("stopped: no backup was created")
		}
		return fmt.Errorf("no backup was created: %w", err)
	}
	to.Println(terminal.Sprintf("Backed up %d objects of the plane %s at revision %d to %s: %s in %s.",
		head.Objects, head.Plane, head.Revision, path, terminal.FormatSize(out.bytes),
		terminal.RoundDuration(time.Since(start))))
	return nil
}

// stream opens the source: the state folder of --data, or a running server.
func (f *backupFlags) stream(ctx context.Context) (io.ReadCloser, error) {
	if f.data != "" {
		return source.OpenFolder(ctx, f.data, f.acceptDamage)
	}
	return source.OpenServer(ctx, f.kubeconfig)
}

// check reads a backup to its end, which verifies it, and returns its head.
func (f *backupFlags) check(to *terminal.Screen, stream io.Reader) (backup.Head, error) {
	r, err := backup.Open(stream)
	if err != nil {
		return backup.Head{}, err
	}
	head := r.Head()
	if len(head.Damaged) > 0 && !f.acceptDamage {
		return head,
			fmt.Errorf("%d objects are damaged and would be missing in it, %s first: run bowline verify to list them; "+
				"use --accept-damage to back up without them", len(head.Damaged), head.Damaged[0])
	}
	progress := terminal.NewProgress(to, "backing up", head.Objects)
	for _, err := range r.Objects() {
		if _, inconsistent := errors.AsType[*backup.InconsistentError](err); err != nil && !inconsistent {
			return head, err
		}
		progress.Step()
	}
	return head, nil
}

// byteCounter counts the bytes written.
type byteCounter struct {
	io.Writer
	bytes int
}

// Write implements io.Writer.
func (c *byteCounter) Write(data []byte) (int, error) {
	n, err := c.Writer.Write(data)
	c.bytes += n
	return n, err
}

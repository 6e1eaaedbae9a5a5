package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/state"
	"github.com/bowline-dev/bowline/internal/durable"
	"github.com/bowline-dev/bowline/internal/store/backup"
	"github.com/bowline-dev/bowline/internal/store/log/disk"
	"github.com/bowline-dev/bowline/object"
)

// restoreFlags are the flags of restore, as given.
type restoreFlags struct {
	data         string
	acceptDamage bool
}

func restoreCommand() *cobra.Command {
	var flags restoreFlags
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Make a state folder of a backup",
		Long: `Makes of a backup the state folder that bowline up --data begins with. A folder that holds objects, belongs to another
plane or is in use is refused and left as it is; the new store takes its place when the whole backup was read and is
right, and not before. FILE may be - for standard input.

The plane is the same, with its identity: do not let it run in two places, where both would make the same things real.
Certificates are made anew, and clients need the new kubeconfig. Revisions begin far above all that the plane has given
out, also after the backup was made: a client that comes with one of those is told that it is gone (410), and lists again.

Exit codes: 0 restored; 1 failed, and there is no store; 2 the command line is wrong.`,
		Example: `  bowline restore --data ./plane plane.backup
  bowline up --data ./plane

  # From another machine.
  ssh other 'zstd -dc plane.backup.zst' | bowline restore --data ./plane -`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return untilSignal(cmd.Context(), func(ctx context.Context) error {
				return flags.run(ctx, newScreen(cmd.OutOrStdout(), cmd.ErrOrStderr()), args[0], cmd.InOrStdin())
			})
		},
	}
	set := cmd.Flags()
	set.StringVar(&flags.data, "data", "", "`folder` to make, or an empty one (default: the user's state folder)")
	set.BoolVar(&flags.acceptDamage, "accept-damage", false, "restore although some objects of the backup are damaged, without them")
	return cmd
}

func (f *restoreFlags) run(ctx context.Context, to *screen, path string, stdin io.Reader) (err error) {
	began := time.Now()
	stream, err := openBackup(path, stdin)
	if err != nil {
		return err
	}
	defer stream.Close()
	r, err := backup.Open(stream)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	folder, err := stateFolder(f.data)
	if err != nil {
		return err
	}
	lock, err := folder.Lock()
	if err != nil {
		return held(err)
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if err := accepts(folder, r.Head()); err != nil {
		return err
	}
	restoring := &restoring{
		ctx: ctx, from: r, to: to, accept: f.acceptDamage, progress: newProgress(to, "restoring", r.Head().Objects),
	}
	revision := object.NextEpoch(r.Head().Revision, time.Now())
	if err := restoring.into(folder, revision); err != nil {
		return fmt.Errorf("%s was not restored, and %s has no store: %w", path, folder, err)
	}
	to.line(fmt.Sprintf("Restored %d objects of the plane %s into %s: revisions begin at %d. It took %s.",
		restoring.progress.past, r.Head().Plane, folder, revision, rounded(time.Since(began))))
	return nil
}

// openBackup opens a backup to read. The caller closes it.
func openBackup(path string, stdin io.Reader) (io.ReadCloser, error) {
	if path == standardStream {
		return io.NopCloser(stdin), nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the backup: %w", err)
	}
	return file, nil
}

// accepts says whether a backup may be restored into a folder.
func accepts(folder state.Folder, head backup.Head) error {
	if _, err := os.Stat(folder.Objects()); err == nil {
		return fmt.Errorf("%s holds a store already, and was left as it is: name another folder with --data, or move %s away",
			folder, folder.Objects())
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return folder.MustBeOf(head.Plane)
}

// restoring is a backup on its way into a folder.
type restoring struct {
	ctx      context.Context
	from     *backup.Reader
	to       *screen
	accept   bool
	progress *progress
}

// into restores beside the place of objects, and takes that once everything was read.
func (r *restoring) into(folder state.Folder, revision object.Revision) error {
	beside := folder.Restoring()
	if err := os.RemoveAll(beside); err != nil { // what a restore left that was killed
		return err
	}
	defer os.RemoveAll(beside)
	if err := r.missing(); err != nil {
		return err
	}
	if err := disk.Restore(beside, disk.Options{}, revision, r.objects()); err != nil {
		if r.ctx.Err() != nil {
			return errors.New("stopped")
		}
		return err
	}
	if err := folder.KeepPlaneID(r.from.Head().Plane); err != nil {
		return err
	}
	return durable.Rename(beside, folder.Objects())
}

// missing tells of objects that were damaged before the backup was made.
func (r *restoring) missing() error {
	for _, key := range r.from.Head().Damaged {
		if !r.accept {
			return fmt.Errorf("%s and %d more were damaged before it was made and are not in it: restore without them "+
				"with --accept-damage", key, len(r.from.Head().Damaged)-1)
		}
		r.to.line("not restored: " + string(key) + ": it was damaged before the backup was made")
	}
	return nil
}

// objects are those that can be read; of the others it tells, and ends with them unless damage is accepted.
func (r *restoring) objects() iter.Seq2[*object.Object, error] {
	return func(yield func(*object.Object, error) bool) {
		for o, err := range r.from.Objects() {
			var damage *backup.DamagedError
			switch {
			case r.ctx.Err() != nil:
				err = r.ctx.Err()
			case r.accept && errors.As(err, &damage):
				r.to.line("not restored: " + err.Error())
				continue
			case errors.As(err, &damage):
				err = fmt.Errorf("%w; bowline verify names all that is; restore the rest with --accept-damage", err)
			case err == nil:
				r.progress.step()
			}
			if !yield(o, err) || err != nil {
				return
			}
		}
	}
}

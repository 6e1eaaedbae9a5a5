package backup

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

	"github.com/bowline-dev/bowline/cmd/bowline/internal/cli"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/source"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/state"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/terminal"
	"github.com/bowline-dev/bowline/internal/durable"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store/backup"
	"github.com/bowline-dev/bowline/internal/store/log/disk"
)

// restoreFlags holds the parsed flags of bowline restore.
type restoreFlags struct {
	data         string
	acceptDamage bool
}

// RestoreCommand returns the bowline restore command.
func RestoreCommand() *cobra.Command {
	var flags restoreFlags
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Create a state folder from a backup",
		Long: `Creates from a backup a state folder for bowline up --data. A folder that already holds
objects, belongs to another plane or is in use is rejected and left unchanged. The new store
is moved into place after the whole backup was read and verified. If FILE is -, the backup
is read from standard input.

The plane keeps its identity: do not run it in two places, where both would manage the same
real resources. Certificates are new, so clients need the new kubeconfig. Revisions start
far above all revisions that the plane has used, even after the backup: a client that
resumes from an older revision gets 410 Gone and lists again.

Exit codes: 0 restored; 1 failure, and no store was created; 2 invalid command line.`,
		Example: `  bowline restore --data ./plane plane.backup
  bowline up --data ./plane

  # From another machine.
  ssh other 'zstd -dc plane.backup.zst' | bowline restore --data ./plane -`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return cli.UntilSignal(cmd.Context(), func(ctx context.Context) error {
				return flags.run(ctx, terminal.NewScreen(cmd.OutOrStdout(), cmd.ErrOrStderr()), args[0],
					cmd.InOrStdin())
			})
		},
	}
	set := cmd.Flags()
	set.StringVar(&flags.data, "data", "",
		"state `folder` to create; may exist if it is empty (default: the user's state folder)")
	set.BoolVar(&flags.acceptDamage, "accept-damage", false,
		"restore without the damaged and inconsistent objects of the backup")
	return cmd
}

func (f *restoreFlags) run(ctx context.Context, to *terminal.Screen, path string, stdin io.Reader) (err error) {
	start := time.Now()
	stream, err := source.OpenFile(path, stdin)
	if err != nil {
		return err
	}
	defer stream.Close()
	r, err := backup.Open(stream)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	folder, err := source.Folder(f.data)
	if err != nil {
		return err
	}
	lock, err := folder.Lock()
	if err != nil {
		return source.ExplainLock(err)
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if err := checkFolder(folder, r.Head()); err != nil {
		return err
	}
	restoring := &restorer{
		ctx: ctx, from: r, to: to, accept: f.acceptDamage,
		progress: terminal.NewProgress(to, "restoring", r.Head().Objects),
	}
	revision := object.NextEpoch(r.Head().Revision, time.Now())
	if err := restoring.restoreInto(folder, revision); err != nil {
		return fmt.Errorf("%s was not restored, and %s has no store: %w", path, folder, err)
	}
	to.Println(terminal.Sprintf("Restored %d objects of the plane %s into %s: revisions begin at %d. It took %s.",
		restoring.progress.Done, r.Head().Plane, folder, revision, terminal.RoundDuration(time.Since(start))))
	return nil
}

// checkFolder returns an error if the backup must not be restored into the folder.
func checkFolder(folder state.Folder, head backup.Head) error {
	if _, err := os.Stat(folder.Objects()); err == nil {
		return fmt.Errorf("%s already holds a store, which was not changed: name another folder with --data, or "+
			"move %s away",
			folder, folder.Objects())
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return folder.CheckPlaneID(head.Plane)
}

// restorer restores a backup into a folder.
type restorer struct {
	ctx      context.Context
	from     *backup.Reader
	to       *terminal.Screen
	accept   bool
	progress *terminal.Progress
}

// restoreInto restores to a temporary folder, and renames it when the whole backup has been read.
func (r *restorer) restoreInto(folder state.Folder, revision object.Revision) error {
	temporary := folder.Restoring()
	if err := os.RemoveAll(temporary); err != nil { // left by a killed restore
		return err
	}
	defer os.RemoveAll(temporary)
	if err := r.checkDamaged(); err != nil {
		return err
	}
	if err := disk.Restore(temporary, disk.Options{}, revision, r.objects()); err != nil {
		if r.ctx.Err() != nil {
			return errors.New("stopped")
		}
		return err
	}
	if err := folder.WritePlaneID(r.from.Head().Plane); err != nil {
		return err
	}
	return durable.Rename(temporary, folder.Objects())
}

// checkDamaged reports the objects that were damaged before the backup was made. It returns an error for the
// first one unless damage is accepted.
func (r *restorer) checkDamaged() error {
	for _, key := range r.from.Head().Damaged {
		if !r.accept {
			return fmt.Errorf("%s and %d more were damaged before the backup and are not in it: restore without them "+
				"with --accept-damage", key, len(r.from.Head().Damaged)-1)
		}
		r.to.Println(terminal.Sprintf("not restored: %s: it was damaged before the backup", key))
	}
	return nil
}

// objects yields the readable objects of the backup. If damage is accepted, it reports damaged objects and
// skips them; otherwise it stops with an error at the first one.
func (r *restorer) objects() iter.Seq2[*object.Object, error] {
	return func(yield func(*object.Object, error) bool) {
		for o, err := range r.from.Objects() {
			switch {
			case r.ctx.Err() != nil:
				err = r.ctx.Err()
			case r.accept && isDamage(err):
				r.to.Println(terminal.Sprintf("not restored: %s", err))
				continue
			case isDamage(err):
				err = fmt.Errorf("%w; run bowline verify to list all damage; use --accept-damage to restore the rest",
					err)
			case err == nil:
				r.progress.Step()
			}
			if !yield(o, err) || err != nil {
				return
			}
		}
	}
}

// isDamage reports whether an error concerns one object of the backup, which cannot be restored as it is.
func isDamage(err error) bool {
	_, damaged := errors.AsType[*backup.DamagedError](err)
	_, inconsistent := errors.AsType[*backup.InconsistentError](err)
	return damaged || inconsistent
}

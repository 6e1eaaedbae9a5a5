package operations

import (
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/bowline-dev/bowline/internal/server/status"
	"github.com/bowline-dev/bowline/internal/server/tasks"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/backup"
)

// BackupPath is where administrators download the plane's state, in the format of package
// internal/store/backup. It is not the path of an API resource; only administrators may request it.
const BackupPath = "/bowline/backup"

// backupWriteTimeout is how long a client may block a write of the backup. It blocks nothing else, but objects
// that were replaced since the backup began stay in memory until it ends.
const backupWriteTimeout = 10 * time.Minute

// Backup serves the state of a store at BackupPath.
type Backup struct {
	Store *store.Store
	Tasks *tasks.Group
	Log   *slog.Logger
}

// Serve streams the current state. It returns an error only before the first byte is written; the caller answers it.
// After that it aborts the connection with a panic, and the answer has no trailer.
func (b *Backup) Serve(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodGet {
		return status.MethodNotAllowed()
	}
	if !b.Tasks.Begin(BackupPath) {
		return store.ErrClosed
	}
	defer b.Tasks.Done(BackupPath)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(b.Tasks.Context(), cancel)()
	snapshot, err := b.Store.Snapshot(ctx, store.Latest())
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "application/octet-stream")
	out := deadlineWriter{w, http.NewResponseController(w)}
	if err := backup.Write(ctx, out, snapshot, backup.HeadOf(b.Store, snapshot, programVersion())); err != nil {
		b.Log.Warn("a backup was not finished", "error", err)
		panic(http.ErrAbortHandler)
	}
	return nil
}

// programVersion returns the version of this module in the running program; empty if it is unknown.
func programVersion() string {
	const module = "github.com/bowline-dev/bowline"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == module {
			return m.Version
		}
	}
	return ""
}

// deadlineWriter sets a new deadline for each write.
type deadlineWriter struct {
	http.ResponseWriter
	rc *http.ResponseController
}

// Write implements io.Writer.
func (d deadlineWriter) Write(data []byte) (int, error) {
	d.rc.SetWriteDeadline(time.Now().Add(backupWriteTimeout))
	return d.ResponseWriter.Write(data)
}

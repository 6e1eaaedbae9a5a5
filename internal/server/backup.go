package server

import (
	"context"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/backup"
)

// backupPath is where administrators download the plane's state, in the format of package
// internal/store/backup. It is not the path of an API resource; only administrators may request it.
const backupPath = "/bowline/backup"

// backupPatience is how long a client may block a write of the backup. It blocks nothing else, but objects
// that were replaced since the backup began stay in memory until it ends.
const backupPatience = 10 * time.Minute

// lasts reports whether a request is exempt from the server's timeout.
func (r *route) lasts() bool { return r.verb == "watch" || !r.resource && r.path == backupPath }

// backup streams the current state. An incomplete answer has no trailer, and its connection is aborted.
func (s *Server) backup(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		s.writeError(w, r, methodNotAllowed())
		return
	}
	if !s.begin() {
		s.writeError(w, r, store.ErrClosed)
		return
	}
	defer s.work.Done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	snapshot, err := s.store.Snapshot(ctx, store.Latest())
	if err != nil {
		s.writeError(w, r, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "application/octet-stream")
	out := patient{w, http.NewResponseController(w)}
	if err := backup.Write(ctx, out, snapshot, backup.HeadOf(s.store, snapshot, program())); err != nil {
		s.log.Warn("a backup was not finished", "error", err)
		panic(http.ErrAbortHandler)
	}
	out.rc.SetWriteDeadline(time.Time{}) // the connection may be reused
}

// program returns the version of this module in the running program.
func program() string {
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

// patient sets a new deadline for each write.
type patient struct {
	http.ResponseWriter
	rc *http.ResponseController
}

// Write implements io.Writer.
func (p patient) Write(data []byte) (int, error) {
	p.rc.SetWriteDeadline(time.Now().Add(backupPatience))
	return p.ResponseWriter.Write(data)
}

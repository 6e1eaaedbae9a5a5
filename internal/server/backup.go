package server

import (
	"context"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/backup"
)

// backupPath is where administrators get the plane's state: package store/backup says in which form. It is a path of no API
// resource, which nobody else may read.
const backupPath = "/bowline/backup"

// backupPatience is how long a client may leave a part of a backup waiting. It holds up nobody; but the objects that were
// replaced since it began stay in memory as long as it lasts.
const backupPatience = 10 * time.Minute

// lasts says that a request is not bounded by the server's timeout: its answer takes as long as its client likes.
func (r *route) lasts() bool { return r.verb == "watch" || !r.resource && r.path == backupPath }

// backup answers with the state of now. An answer that ends early has no trailer, and its connection breaks off.
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
	out.rc.SetWriteDeadline(time.Time{}) // the connection may serve others yet
}

// program is the version of this module in the running program.
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

// patient writes to a client that reads, however slowly.
type patient struct {
	http.ResponseWriter
	rc *http.ResponseController
}

// Write implements io.Writer.
func (p patient) Write(data []byte) (int, error) {
	p.rc.SetWriteDeadline(time.Now().Add(backupPatience))
	return p.ResponseWriter.Write(data)
}

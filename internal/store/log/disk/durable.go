package disk

import (
	"fmt"
	"hash/crc32"
	"path"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/bowline-dev/bowline/internal/object"
)

// durableFile records the last acknowledged revision. Without it, a write-ahead log that was truncated or
// removed could not be distinguished from one with a torn end after a crash.
//
// It is written once a commit is durable, and never synced, so it costs no sync per commit. After a crash of the
// process it is exact. After a crash of the machine it may be behind the log, but not ahead of it, unless the disk
// lost synced data. A failure to write it is ignored.
const durableFile = "DURABLE"

// LostError reports that a store lacks commits that were acknowledged.
type LostError struct {
	// Acknowledged is the last revision that the store acknowledged, and Found the last one it still has.
	Acknowledged, Found object.Revision
}

// Error names both revisions.
func (e *LostError) Error() string {
	return fmt.Sprintf("the last commits of the store are lost: revision %d was acknowledged, and its files end at %d",
		e.Acknowledged, e.Found)
}

// durableContents returns the contents of the file.
func durableContents(acknowledged object.Revision) string {
	number := fmt.Sprintf("%020d", acknowledged)
	return fmt.Sprintf("%s %08x\n", number, crc32.ChecksumIEEE([]byte(number)))
}

// readDurable returns the recorded revision, or 0 if the file is missing or torn.
func readDurable(fs vfs.FS, dir string) (acknowledged object.Revision) {
	text, err := readWhole(fs, dir, durableFile)
	if err != nil {
		return 0
	}
	if _, err = fmt.Sscanf(text, "%d", &acknowledged); err != nil || text != durableContents(acknowledged) {
		return 0
	}
	return acknowledged
}

// durableWriter writes durableFile. The log's mu guards it.
type durableWriter struct {
	file vfs.File // nil if the file cannot be written
}

// open opens the file, or opens it again after a disk failure. If that fails, write does nothing.
func (w *durableWriter) open(d *directory) {
	_ = w.close()
	f, err := d.options.FS.OpenReadWrite(path.Join(d.path, durableFile), vfs.WriteCategoryUnspecified)
	if err != nil {
		d.options.Log.Warn("the last revision cannot be recorded: commits that are lost later may go unnoticed",
			"folder", d.path, "error", err)
		return
	}
	w.file = f
}

// write records an acknowledged revision.
func (w *durableWriter) write(acknowledged object.Revision) {
	if w.file != nil {
		_, _ = w.file.WriteAt([]byte(durableContents(acknowledged)), 0)
	}
}

func (w *durableWriter) close() error {
	if w.file == nil {
		return nil
	}
	err := w.file.Close()
	w.file = nil
	return err
}

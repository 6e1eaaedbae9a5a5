package disk

import (
	"fmt"
	"hash/crc32"
	"path"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/bowline-dev/bowline/internal/object"
)

// boundFile records the last acknowledged revision. Without it, a write-ahead log that was truncated or
// removed could not be distinguished from one with a torn end after a crash.
//
// It is written after each commit is durable and never synced. After a process crash it is exact; after a
// machine crash it may be behind, but it is never ahead of a disk that preserves synced data. It therefore
// costs no extra sync per commit, and a failure to write it is ignored.
const boundFile = "DURABLE"

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

// boundContents returns the contents of the file.
func boundContents(acknowledged object.Revision) string {
	number := fmt.Sprintf("%020d", acknowledged)
	return fmt.Sprintf("%s %08x\n", number, crc32.ChecksumIEEE([]byte(number)))
}

// readBound returns the recorded revision, or 0 if the file is missing or torn.
func readBound(fs vfs.FS, dir string) (acknowledged object.Revision) {
	text, err := readWhole(fs, dir, boundFile)
	if err != nil {
		return 0
	}
	if _, err = fmt.Sscanf(text, "%d", &acknowledged); err != nil || text != boundContents(acknowledged) {
		return 0
	}
	return acknowledged
}

// boundWriter writes boundFile. The log's mu guards it.
type boundWriter struct {
	file vfs.File // nil if the file cannot be written
}

// open opens the file, again after a disk failure. Commits are durable without it.
func (b *boundWriter) open(d *directory) {
	_ = b.close()
	f, err := d.options.FS.OpenReadWrite(path.Join(d.path, boundFile), vfs.WriteCategoryUnspecified)
	if err != nil {
		d.options.Log.Warn("writing the last revision beside the store failed", "folder", d.path, "error", err)
		return
	}
	b.file = f
}

// write records an acknowledged revision.
func (b *boundWriter) write(acknowledged object.Revision) {
	if b.file != nil {
		_, _ = b.file.WriteAt([]byte(boundContents(acknowledged)), 0)
	}
}

func (b *boundWriter) close() error {
	if b.file == nil {
		return nil
	}
	err := b.file.Close()
	b.file = nil
	return err
}

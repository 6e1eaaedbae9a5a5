package disk_test

import (
	"testing"

	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/internal/store/log/disk"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

func TestDisk(t *testing.T) {
	storetest.Run(t, func(t *testing.T) log.Log { return open(t, t.TempDir(), disk.Options{}) })
	storetest.RunDurable(t, func(t *testing.T) storetest.Reopen {
		dir := t.TempDir()
		return func() log.Log { return open(t, dir, disk.Options{}) }
	})
}

func open(t testing.TB, dir string, options disk.Options) *disk.Log {
	t.Helper()
	l, err := disk.Open(dir, options)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

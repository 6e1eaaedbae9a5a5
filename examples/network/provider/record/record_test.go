package record_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/examples/network/provider"
	"github.com/bowline-dev/bowline/examples/network/provider/providertest"
	"github.com/bowline-dev/bowline/examples/network/provider/record"
)

const folderVariable = "BOWLINE_RECORD_FOLDER"

func inFolder(folder string) func(plane string) (provider.Provider, error) {
	return func(plane string) (provider.Provider, error) { return record.New(plane, record.Dir(folder)) }
}

func TestMain(m *testing.M) {
	providertest.Main(m, inFolder(os.Getenv(folderVariable)))
}

func TestRecordsOnDisk(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "networks")
	file := func(id string) string { return filepath.Join(folder, id+".json") }
	write := func(name string, content string) func(*testing.T, string) {
		return func(t *testing.T, id string) {
			path := filepath.Join(filepath.Dir(file(id)), name+filepath.Base(file(id)))
			if err := os.MkdirAll(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	providertest.Run(t, providertest.Environment{
		New: inFolder(folder),
		Remove: func(t *testing.T, id string) {
			if err := os.Remove(file(id)); err != nil {
				t.Fatal(err)
			}
		},
		Damage: map[string]func(*testing.T, string){
			"other address": write("", `{"cidr":"10.9.0.0/16","gateway":"10.9.0.1"}`),
			"no JSON":       write("", `{"cidr":`),
			"empty":         write("", ``),
		},
		Incomplete: map[string]func(*testing.T, string){
			"new file empty":     write(".new.", ``),
			"new file half full": write(".new.", `{"plane":`),
		},
	})
}

func TestRecordsInMemory(t *testing.T) {
	t.Parallel()
	var files record.Memory
	write := func(content string) func(*testing.T, string) {
		return func(t *testing.T, id string) {
			if err := files.Write(id+".json", []byte(content)); err != nil {
				t.Fatal(err)
			}
		}
	}
	providertest.Run(t, providertest.Environment{
		New: func(plane string) (provider.Provider, error) { return record.New(plane, &files) },
		Remove: func(t *testing.T, id string) {
			if err := files.Remove(id + ".json"); err != nil {
				t.Fatal(err)
			}
		},
		Damage: map[string]func(*testing.T, string){"no JSON": write(`{`)},
	})
}

func TestKilledProcessWritesRecordOnce(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	providertest.Killed(t, 12, folderVariable+"="+folder, inFolder(folder))
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != 1 {
		t.Errorf("got the records %v, %v; want one", left, err)
	}
}

// The caller has to restart the watch and then finds all records missing.
func TestRemovingTheFolderEndsTheWatch(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "networks")
	p, err := inFolder(folder)("plane")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Apply(t.Context(), providertest.Wanted("uid", "10.0.0.0/8", "10.0.0.1")); err != nil {
		t.Fatal(err)
	}
	err = p.Watch(t.Context(), func(uid types.UID) {
		if uid == "" {
			if err := os.RemoveAll(folder); err != nil {
				t.Error(err)
			}
		}
	})
	if err == nil {
		t.Error("the watch ended without an error")
	}
	if uids, err := p.List(t.Context()); err != nil || len(uids) > 0 {
		t.Errorf("afterwards List returned %v, %v", uids, err)
	}
}

// A watch of records in memory blocks durably, so that time advances in a bubble.
func TestMemoryWatchLetsTimePassInABubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var files record.Memory
		p, err := record.New("plane", &files)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var notified []types.UID
		ended := make(chan error)
		go func() { ended <- p.Watch(ctx, func(uid types.UID) { notified = append(notified, uid) }) }()
		time.Sleep(48 * time.Hour)
		if err := p.Apply(ctx, providertest.Wanted("uid", "10.0.0.0/8", "10.0.0.1")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if len(notified) != 2 || notified[1] != "uid" {
			t.Errorf("got notifications %q, want one for all and then one for uid", notified)
		}
	})
}

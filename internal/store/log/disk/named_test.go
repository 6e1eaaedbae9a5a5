package disk_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log/disk"
)

func TestMissingFilesAreReported(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"*.log", "MANIFEST-*", "*.sst", "marker.manifest.*", "marker.format-version.*"} {
		t.Run(pattern, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "20250101") // a number, like the names of files
			if err := os.Rename(filled(t), dir); err != nil {
				t.Fatal(err)
			}
			s, _ := opened(t, dir, disk.Options{}) // flushes the write-ahead log of the first store to a table
			closed(t, s)
			files, _ := filepath.Glob(filepath.Join(dir, pattern))
			if len(files) == 0 {
				t.Fatal("the store has no such file")
			}
			for _, file := range files {
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
			}
			checkNamesFile(t, refused(t, dir), filepath.Base(files[0]), pattern)
		})
	}
}

// TestMissingTableIsReportedDespiteTornLog truncates the last write-ahead log, which is normal after a crash,
// and removes a table.
func TestMissingTableIsReportedDespiteTornLog(t *testing.T) {
	t.Parallel()
	dir := crashed(t, filled(t), "b")
	name, data := lastWritten(t, dir)
	tables, _ := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err := errors.Join(os.WriteFile(name, data[:len(data)-1], 0o600), os.Remove(tables[0])); err != nil {
		t.Fatal(err)
	}
	checkNamesFile(t, refused(t, dir), filepath.Base(tables[0]))
}

// checkNamesFile checks that an error names one of the files and the remedy before any message of the database.
func checkNamesFile(t *testing.T, err error, names ...string) {
	t.Helper()
	words, _, advised := strings.Cut(err.Error(), "or restore a backup")
	named := slices.ContainsFunc(names, func(name string) bool { return strings.Contains(words, name) })
	if !named || !advised || !strings.Contains(words, "put") || strings.Contains(words, "pebble") ||
		strings.Contains(words, "\n") {
		t.Errorf("%v: got error %v", names, err)
	}
}

func TestDamagedFilesAreReported(t *testing.T) {
	t.Parallel()
	for how, damage := range map[string]func([]byte) []byte{
		"empty":   func([]byte) []byte { return nil },
		"half":    func(data []byte) []byte { return data[:len(data)/2] },
		"garbage": func(data []byte) []byte { return bytes.Repeat([]byte("garbage "), len(data)) },
		"a bit":   func(data []byte) []byte { data[len(data)-3] ^= 1; return data },
		"its end": func(data []byte) []byte { return data[:len(data)-1] },
	} {
		for _, pattern := range []string{"FORMAT", "*.log", "MANIFEST-*", "*.sst", "OPTIONS-*"} {
			t.Run(how+" of "+pattern, func(t *testing.T) {
				t.Parallel()
				dir := crashed(t, filled(t), "b")
				files, _ := filepath.Glob(filepath.Join(dir, pattern))
				file := files[len(files)-1]
				data, err := os.ReadFile(file)
				if pattern == "*.log" {
					file, data = lastWritten(t, dir)
				}
				if err := errors.Join(err, os.WriteFile(file, damage(data), 0o600)); err != nil {
					t.Fatal(err)
				}
				l, err := disk.Open(dir, disk.Options{})
				if err == nil {
					var s *store.Store
					if s, err = store.New(t.Context(), l, store.Options{AcceptDamage: true}); err == nil {
						if value(s, "a") != "1" || value(s, "b") != "1" {
							t.Error("Open succeeded without all objects")
						}
						closed(t, s)
						return
					}
				}
				checkNamesFile(t, err, filepath.Base(file), pattern)
			})
		}
	}
}

// TestNonRegularFilesAreReported replaces a file of a store by something that is not a file. Opening must neither
// block nor create a new store.
func TestNonRegularFilesAreReported(t *testing.T) {
	t.Parallel()
	others := map[string]func(name string) error{
		"folder":  func(name string) error { return os.Mkdir(name, 0o700) },
		"nowhere": func(name string) error { return os.Symlink("nowhere", name) },
		"itself":  func(name string) error { return os.Symlink(filepath.Base(name), name) },
		"pipe":    func(name string) error { return syscall.Mkfifo(name, 0o600) },
	}
	for other, put := range others {
		for _, pattern := range []string{"FORMAT", "*.log", "MANIFEST-*", "marker.manifest.*", "OPTIONS-*"} {
			t.Run(other+" for "+pattern, func(t *testing.T) {
				t.Parallel()
				dir := filled(t)
				names, _ := filepath.Glob(filepath.Join(dir, pattern))
				if len(names) == 0 {
					t.Fatal("the store has no such file")
				}
				name := names[len(names)-1]
				if err := errors.Join(os.Remove(name), put(name)); err != nil {
					t.Fatal(err)
				}
				_, err := disk.Open(dir, disk.Options{})
				if err == nil {
					t.Fatal("Open succeeded")
				}
				checkNamesFile(t, err, filepath.Base(name))
				if tables, _ := filepath.Glob(filepath.Join(dir, "*.sst")); len(tables) == 0 {
					t.Error("its tables were removed")
				}
			})
		}
	}
}

package state

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzFiles reads any lock file and any identity of a plane. A holder is announced as the content that was read, and
// an identity is written as it was read.
func FuzzFiles(f *testing.F) {
	f.Add(`{"pid":1,"address":"https://127.0.0.1:1","kubeconfig":"/k"}`, "0b1f4a3e-0000-4000-8000-000000000000\n")
	f.Add(`{"pid":"x"}`, "../../x\x1b[2J")
	f.Add("\x00\x00", "")
	f.Add("[]", " \n\n")
	folder := Folder(f.TempDir())
	path := filepath.Join(string(folder), "lock")
	f.Fuzz(func(t *testing.T, lock, identity string) {
		write(t, path, lock)
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		holder := readHolder(file)
		if holder != (Holder{}) && !announced(file) && strings.TrimLeft(lock, " \t\r\n")[0] != '{' {
			t.Errorf("%q names the holder %+v, but no server has written it", lock, holder)
		}
		_ = (&HeldError{Folder: folder, Holder: holder}).Error()
		if err := (&Lock{file: file}).Announce(holder); err != nil {
			t.Fatal(err)
		}
		if again := readHolder(file); again != holder {
			t.Errorf("%q is announced again as %+v, want %+v", lock, again, holder)
		}
		write(t, folder.Identity(), identity)
		id, err := folder.PlaneID()
		if (id == "") == (err == nil) {
			t.Fatalf("%q: got %q and error %v, want exactly one", identity, id, err)
		}
		if err != nil {
			return
		}
		if err := folder.WritePlaneID(id); err != nil {
			t.Fatal(err)
		}
		if again, err := folder.PlaneID(); again != id {
			t.Errorf("%q is written as %q, %v", id, again, err)
		}
	})
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

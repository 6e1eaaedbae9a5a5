package attacks

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// entry is an entry of a backup: see package backup for the format.
type entry struct {
	kind     byte
	revision uint64
	key      string
	data     []byte
}

const (
	backupMagic = "bowline backup 1\n"
	marker      = "\xb0\xe1\x1e\x0a"
	fixedSize   = len(marker) + 1 + 2 + 4 + 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// readEntries parses an intact backup.
func readEntries(t *testing.T, text []byte) (all []entry) {
	t.Helper()
	text, ok := bytes.CutPrefix(text, []byte(backupMagic))
	if !ok {
		t.Fatalf("a backup starts with %.20q", text)
	}
	for len(text) > 0 {
		head := text[len(marker):fixedSize]
		key, data := int(binary.LittleEndian.Uint16(head[1:])), int(binary.LittleEndian.Uint32(head[3:]))
		e := entry{kind: head[0], revision: binary.LittleEndian.Uint64(head[7:]), key: string(text[fixedSize:][:key])}
		e.data = bytes.Clone(text[fixedSize+key+4:][:data])
		all, text = append(all, e), text[fixedSize+key+4+data+4:]
	}
	return all
}

// writeEntries returns a backup with valid checksums.
func writeEntries(all []entry) []byte {
	text := []byte(backupMagic)
	for _, e := range all {
		if e.kind == 't' && e.data == nil {
			sum := sha256.Sum256(text)
			e.data = fmt.Appendf(nil, `{"objects":%d,"sha256":%q}`, len(all)-2, hex.EncodeToString(sum[:]))
		}
		text = appendEntry(text, e, len(e.key), len(e.data))
	}
	return text
}

// appendEntry appends an entry whose lengths may be wrong.
func appendEntry(text []byte, e entry, key, data int) []byte {
	head := append([]byte(marker), e.kind)
	head = binary.LittleEndian.AppendUint16(head, uint16(key))
	head = binary.LittleEndian.AppendUint32(head, uint32(data))
	head = binary.LittleEndian.AppendUint64(head, e.revision)
	head = append(head, e.key...)
	head = binary.LittleEndian.AppendUint32(head, crc32.Checksum(head, castagnoli))
	text = append(append(text, head...), e.data...)
	return binary.LittleEndian.AppendUint32(text, crc32.Checksum(e.data, castagnoli))
}

// summed sets the checksum of a record.
func summed(record []byte) []byte {
	if len(record) >= 4 {
		binary.LittleEndian.PutUint32(record, crc32.Checksum(record[4:], castagnoli))
	}
	return record
}

// change returns a function that changes the first object whose key starts with a prefix.
func change(prefix string, do func(*entry)) func([]entry) []entry {
	return func(all []entry) []entry {
		i := slices.IndexFunc(all, func(e entry) bool { return strings.HasPrefix(e.key, prefix) })
		do(&all[i])
		return all
	}
}

// record returns a change of the record of the ConfigMap a.
func record(do func([]byte) []byte) func([]entry) []entry {
	return change("/configmaps/default/a", func(e *entry) { e.data = summed(do(e.data)) })
}

// key returns a change of the key of the last object, which may keep the order.
func key(text string) func([]entry) []entry {
	return func(all []entry) []entry {
		all[len(all)-2].key = text
		return all
	}
}

// replaced replaces a text of a record by one of the same length.
func replaced(from, to string) func([]entry) []entry {
	return record(func(r []byte) []byte {
		if !bytes.Contains(r, []byte(from)) {
			panic("no record has " + from) // the row would test nothing
		}
		return bytes.ReplaceAll(r, []byte(from), []byte(to))
	})
}

// head returns a change of the head.
func head(from, to string) func([]entry) []entry {
	return func(all []entry) []entry {
		all[0].data = []byte(strings.Replace(string(all[0].data), from, to, 1))
		return all
	}
}

// hostileBackups are backups with valid checksums that no server has written, and damaged ones. Each is verified,
// restored, compared, and served if it can be restored.
func hostileBackups(t *testing.T) []execution {
	folder := usedFolder(t)
	intact := filepath.Join(t.TempDir(), "intact")
	s := startServer(t, "--data", folder)
	run(t, s.folder, "backup", "--kubeconfig", filepath.Join(s.folder, "kubeconfig"), intact)
	if problem := s.stop(); problem != "" {
		t.Fatal(problem)
	}
	original, err := os.ReadFile(intact)
	if err != nil {
		t.Fatal(err)
	}
	var rows []execution
	// These are no problems: nothing depends on the texts.
	harmless := []string{"head: a program with ESC", "head: a time of the year 9999"}
	add := func(name string, text func() []byte) {
		found := []int{1, 3}
		if slices.Contains(harmless, name) {
			found = []int{0}
		}
		prepare := all(write("intact", string(original)), in("hostile", func(path string) error {
			return os.WriteFile(path, text(), 0o600) // made here, so that it does not count as memory
		}))
		restored := func(t *testing.T, folder string) {
			prepare(t, folder)
			cmd := command(folder, "restore", "--accept-damage", "--data", "data", "hostile")
			cmd.Dir = folder
			cmd.Run() // an error is an answer too: then the server starts with a new folder
		}
		rows = append(rows,
			execution{name: name + ": verify", prepare: prepare, args: []string{"verify", "hostile"}, codes: found},
			execution{name: name + ": restore", prepare: prepare, args: []string{"restore", "--data", "data", "hostile"},
				codes: []int{0, 1}},
			execution{name: name + ": compare", prepare: prepare, args: []string{"diff-forks", "intact", "hostile"},
				codes: []int{0, 1, 3}},
			execution{name: name + ": serve", prepare: restored, args: up("--data", "data"), codes: []int{1, served}})
	}
	for _, h := range hostileEntries() {
		add(h.name, func() []byte { return writeEntries(renewed(h.change(readEntries(t, original)))) })
	}
	for _, h := range hostileBytes(readEntries(t, original)) {
		add(h.name, func() []byte { return h.change(bytes.Clone(original)) })
	}
	return rows
}

// renewed lets the trailer be computed, unless it was changed.
func renewed(all []entry) []entry {
	if last := &all[len(all)-1]; last.kind == 't' && last.revision != changedTrailer {
		last.data = nil
	}
	return all
}

// changedTrailer is the revision of a trailer that is not computed.
const changedTrailer = 1<<64 - 1

type entriesChange struct {
	name   string
	change func([]entry) []entry
}

func hostileEntries() []entriesChange {
	trailer := func(text string) func([]entry) []entry {
		return func(all []entry) []entry {
			all[len(all)-1].data, all[len(all)-1].revision = []byte(text), changedTrailer
			return all
		}
	}
	return []entriesChange{
		{"a key without a slash", key("zzz")},
		{"a key of three parts", key("zzz/a/b")},
		{"a key of nine parts", key("zzz/a/b/c/d/e/f/g/h")},
		{"a key that climbs", key("zzz/../../../../etc/passwd")},
		{"a key with ESC", key("zzz/\x1b]0;x\x07/a/b")},
		{"a key with a line break", key("zzz/x/a\nb/c")},
		{"a key of 64 KB", key("zzz/" + strings.Repeat("a", 65_000))},
		{"an empty key", key("")},
		{"a key that is out of order", key("/a/a/a")},
		{"a key twice", func(all []entry) []entry { return slices.Insert(all, 2, all[1]) }},
		{"another name", replaced(`"name":"a"`, `"name":"b"`)},
		{"a uid that climbs", record(func(r []byte) []byte { return withUID(r, "/../../../../../../../../../../../a") })},
		{"a uid with ESC", record(func(r []byte) []byte { return withUID(r, "\x1b[2J") })},
		{"no JSON", replaced(`"metadata"`, `"metadat\x`)},
		{"a list in place of an object", replaced(`"data":{"k":"v"}`, `"data":[1,2,3,4]`)},
		{"NUL in the data", replaced(`"k":"v"`, "\"k\":\"\x00\"")},
		{"a record of nothing", record(func([]byte) []byte { return nil })},
		{"a record of a byte", record(func(r []byte) []byte { return r[:1] })},
		{"a record of its checksum", record(func(r []byte) []byte { return r[:5] })},
		{"a record of another version", record(func(r []byte) []byte { r[4] = 255; return r })},
		{"a head longer than the record", record(func(r []byte) []byte {
			return append(r[:5:5], 0xff, 0xff, 0xff, 0xff,
				0x0f)
		})},
		{"a head of 2^63", record(func(r []byte) []byte {
			return append(r[:5:5], 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f)
		})},
		{"a head without an end", record(func(r []byte) []byte {
			return append(r[:5:5], bytes.Repeat([]byte{0xff},
				20)...)
		})},
		{"a head of zeros", record(func(r []byte) []byte {
			return append(r[:5:5], append([]byte{100}, make([]byte,
				100)...)...)
		})},
		{"a head of ones", record(func(r []byte) []byte {
			return append(r[:5:5], append([]byte{100}, bytes.Repeat([]byte{255}, 100)...)...)
		})},
		{"100,000,000 labels", record(func(r []byte) []byte {
			return append(r[:5:5], 24, 1, 0, 2, 'v', '1', 0, 0, 0, 0, 1, 'u', 0x80, 0xc2, 0xd7, 0x2f, 0, 0, 0, 0, 0, 0,
				0, 0,
				0, 0)
		})},
		{"a position beyond the data", record(func(r []byte) []byte {
			return append(r[:5:5], 14, 1, 0, 2, 'v', '1', 0xff, 0xff, 0x03, 1, 0, 0, 1, 'u', 0, 0, 0)
		})},
		{"a record of 20 MB", record(func(r []byte) []byte { return append(r, strings.Repeat(" ", 20*mega)...) })},
		{"a million brackets", record(func(r []byte) []byte { return append(r, strings.Repeat("[", mega)...) })},
		{"a revision of 2^63", change("/configmaps/default/a", func(e *entry) { e.revision = 1 << 63 })},
		{"a revision of 0", change("/configmaps/default/a", func(e *entry) { e.revision = 0 })},
		{"an unknown kind of entry", change("/configmaps/default/a", func(e *entry) { e.kind = 'x' })},
		{"two heads", func(all []entry) []entry { return slices.Insert(all, 1, all[0]) }},
		{"no head", func(all []entry) []entry { return all[1:] }},
		{"no objects", func(all []entry) []entry { return append(all[:1:1], all[len(all)-1]) }},
		{"no namespace kube-system", func(all []entry) []entry {
			return slices.DeleteFunc(all, func(e entry) bool { return e.key == "/namespaces//kube-system" })
		}},
		{"head: a plane that climbs", head(`"plane":"`, `"plane":"../../`)},
		{"head: a plane with ESC", head(`"plane":"`, `"plane":"\u001b[2J`)},
		{"head: revision 0", head(`"revision":`, `"revision":0,"x":`)},
		{"head: revision 2^64", head(`"revision":`, `"revision":18446744073709551615,"x":`)},
		{"head: revision 1e999", head(`"revision":`, `"revision":1e999,"x":`)},
		{"head: -5 objects", head(`"objects":`, `"objects":-5,"x":`)},
		{"head: 2^62 objects", head(`"objects":`, `"objects":4611686018427387904,"x":`)},
		{"head: no JSON", head(`{`, `x`)},
		{"head: a million brackets", func(all []entry) []entry {
			all[0].data = []byte(strings.Repeat("[", mega))
			return all
		}},
		{"head: 10,000 damaged objects", head(`{`, `{"damaged":[`+numbered(`"/a/b/c%d"`, 10_000)+`],`)},
		{"head: a damaged object with ESC", head(`{`, `{"damaged":["/a/b/\u001b[2J"],`)},
		{"head: a program with ESC", head(`"program":"`, `"program":"\u001b[2J`)},
		{"head: a time of the year 9999", head(`"time":"2`, `"time":"9999-12-31T23:59:59Z","x":"2`)},
		{"trailer: 1e999 objects", trailer(`{"objects":1e999}`)},
		{"trailer: another number", trailer(`{"objects":1}`)},
		{"trailer: another sum", trailer(`{"objects":15,"sha256":"00"}`)},
		{"no trailer", func(all []entry) []entry { return all[:len(all)-1] }},
		{"two trailers", func(all []entry) []entry { return append(all, all[len(all)-1]) }},
	}
}

// withUID replaces the UID, which has 36 bytes, in the head of a record and in its data.
func withUID(record []byte, uid string) []byte {
	const field = `"uid":"`
	i := bytes.Index(record, []byte(field))
	if i < 0 {
		return nil
	}
	old := bytes.Clone(record[i+len(field):][:36])
	return bytes.ReplaceAll(record, old, []byte(fmt.Sprintf("%-36s", uid)))
}

type bytesChange struct {
	name   string
	change func([]byte) []byte
}

func hostileBytes(all []entry) []bytesChange {
	tampered := func(key, data int) func([]byte) []byte {
		return func([]byte) []byte { return appendEntry([]byte(backupMagic), all[0], key, data) }
	}
	return []bytesChange{
		{"nothing", func([]byte) []byte { return nil }},
		{"a megabyte of zeros", func([]byte) []byte { return make([]byte, mega) }},
		{"a megabyte of markers", func([]byte) []byte {
			return append([]byte(backupMagic), strings.Repeat(marker,
				mega/4)...)
		}},
		{"another version", func(text []byte) []byte {
			return bytes.Replace(text, []byte("backup 1"), []byte("backup 9"),
				1)
		}},
		{"a version of a megabyte", func([]byte) []byte { return []byte("bowline backup " + strings.Repeat("9", mega)) }},
		{"a head of 64 KB key", tampered(65_535, len(all[0].data))},
		{"a head of 2^28 bytes", tampered(0, 1<<28)},
		{"a head of 2^32 bytes", tampered(0, 1<<32-1)},
		{"cut in half", func(text []byte) []byte { return text[:len(text)/2] }},
		{"cut by a byte", func(text []byte) []byte { return text[:len(text)-1] }},
		{"a flipped bit", func(text []byte) []byte { text[len(text)/2] ^= 1; return text }},
		{"a megabyte more", func(text []byte) []byte { return append(text, make([]byte, mega)...) }},
		{"twice", func(text []byte) []byte { return append(text, text...) }},
	}
}

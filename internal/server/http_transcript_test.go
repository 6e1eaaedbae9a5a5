package server_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestHTTP sends the requests of each transcript in testdata/http to a plane of its own, in a bubble, and compares the
// answers. A request is a line with method, path and an optional body; lines with headers may follow:
//
//	A config map is stored, and cannot be created twice.
//
//	> POST /api/v1/namespaces/default/configmaps {"metadata":{"name":"a"},"unknown":1}
//	< 201 metadata.name="a" metadata.uid="<uid-1>"
//	< Warning: 299 - "unknown field \"unknown\""
//	> GET /api/v1/namespaces/default/configmaps
//	> Accept: application/yaml
//	< 200 header.Content-Type="application/yaml" items.*.metadata.name=["a"]
//	> POST /api/v1/namespaces/default/configmaps {"metadata":{"name":"a"}}
//	< 409 AlreadyExists `configmaps "a" already exists`
//
// An answer has its code and the fields that matter, as PATH=JSON; * stands for all items of a list, and null for a
// field that is absent. The answer of a watch is a list of events. A failure has its reason and its message, cut after
// 1000 characters. Lines with all warnings follow, and with the causes of a failure: type, field, and the text unless
// it is in the message. UIDs and revisions are numbered as they appear, and requests can use them by these names. All
// other lines are prose, except:
//
//	$ wait 5s    let time pass; the clock of a bubble starts at 2000-01-01T00:00:00Z
//
// A body is JSON if it begins with a brace, otherwise YAML; that of a PATCH is a merge patch. A header states any
// other type. @NAME is a body in a file that follows the transcript, and @NAME TEXT is that body with TEXT in place of
// its "...". The definition of widgets is the file widgets.yaml of all transcripts.
//
// A request that is rejected, or has the parameter dryRun, must not change any object.
//
// With BOWLINE_TRANSCRIPT=write, the test writes codes, messages and the values of the listed fields to the files;
// review the diff.
func TestHTTP(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/http/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			archive := txtar.Parse(text)
			synctest.Test(t, func(t *testing.T) { archive.Comment = playHTTP(t, file, archive) })
			if os.Getenv("BOWLINE_TRANSCRIPT") != "write" {
				return
			}
			if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// httpTranscript is a transcript during its test.
type httpTranscript struct {
	*testPlane
	bodies map[string]string // by the name of their file
	names  generatedNames
}

// httpStep is a request with the lines of its expected answer, which omit the "< ".
type httpStep struct {
	method, path, body string
	headers            []string // names and values in turn
	want               []string
}

// playHTTP sends the requests of a transcript, reports answers that differ, and returns the transcript with the actual
// answers.
func playHTTP(t *testing.T, file string, archive *txtar.Archive) []byte {
	t.Helper()
	p := &httpTranscript{testPlane: start(t), bodies: map[string]string{"widgets.yaml": widgetDefinition},
		names: generatedNames{names: map[string]string{}, counts: map[string]int{}}}
	for _, f := range archive.Files {
		p.bodies[f.Name] = strings.TrimSpace(string(f.Data))
	}
	var out bytes.Buffer
	lines := strings.Split(strings.TrimSuffix(string(archive.Comment), "\n"), "\n")
	for i := 0; i < len(lines); {
		if text, ok := strings.CutPrefix(lines[i], "$ wait "); ok {
			time.Sleep(must(time.ParseDuration(text))(t))
		}
		step, length := nextStep(lines[i:])
		if length == 0 {
			out.WriteString(lines[i] + "\n")
			i++
			continue
		}
		got := p.take(t, step)
		if !slices.Equal(got, step.want) && os.Getenv("BOWLINE_TRANSCRIPT") != "write" {
			t.Errorf("%s:%d: %s %s %.200s\ngot\n\t< %s\nwant\n\t< %s", file, i+1, step.method, step.path, step.body,
				strings.Join(got, "\n\t< "), strings.Join(step.want, "\n\t< "))
		}
		for _, line := range lines[i : i+length-len(step.want)] {
			out.WriteString(line + "\n")
		}
		for _, line := range got {
			out.WriteString("< " + line + "\n")
		}
		i += length
	}
	return out.Bytes()
}

// nextStep parses the request at the beginning of the lines, and its answer. It returns the number of their lines, 0
// if there is no request.
func nextStep(lines []string) (step httpStep, length int) {
	request, ok := strings.CutPrefix(lines[0], "> ")
	if !ok {
		return step, 0
	}
	step.method, request, _ = strings.Cut(request, " ")
	step.path, step.body, _ = strings.Cut(request, " ")
	for length = 1; length < len(lines); length++ {
		text, _ := strings.CutPrefix(lines[length], "> ")
		name, value, ok := strings.Cut(text, ": ")
		if text == lines[length] || !ok || strings.Contains(name, " ") {
			break
		}
		step.headers = append(step.headers, name, value)
	}
	for ; length < len(lines); length++ {
		text, ok := strings.CutPrefix(lines[length], "< ")
		if !ok {
			break
		}
		step.want = append(step.want, text)
	}
	return step, length
}

// take sends a request and returns the lines of its answer. It fails if a rejected request or a dry run changes
// objects.
func (p *httpTranscript) take(t *testing.T, step httpStep) []string {
	t.Helper()
	body := step.body
	if name, ok := strings.CutPrefix(body, "@"); ok {
		name, text, _ := strings.Cut(name, " ")
		if body, ok = p.bodies[name]; !ok {
			t.Fatalf("the transcript has no file %s", name)
		}
		body = strings.Replace(body, "...", text, 1)
	}
	contentType := yamlType
	if step.method == http.MethodPatch {
		contentType = mergeType
	} else if body == "" || body[0] == '{' {
		contentType = jsonType
	}
	before := p.settledRevision(t)
	r := p.send(t, step.method, p.names.values(step.path), p.names.values(body),
		append([]string{"Content-Type", contentType}, step.headers...)...)
	dryRun := strings.Contains(step.path+body, "dryRun")
	if after := p.settledRevision(t); before != after && (r.code >= http.StatusBadRequest || dryRun) {
		t.Errorf("%s %s %.200s was answered %d, dry run %t, and changed objects", step.method, step.path, step.body,
			r.code, dryRun)
	}
	var paths []string
	if len(step.want) > 0 {
		paths = fieldPaths(step.want[0])
	}
	lines := append([]string{answerLine(t, r, paths)}, moreLines(t, r)...)
	for i := range lines {
		lines[i] = p.names.replace(lines[i])
	}
	return lines
}

// settledRevision returns the revision once everything that follows from earlier requests is written.
func (p *httpTranscript) settledRevision(t *testing.T) string {
	t.Helper()
	synctest.Wait()
	return p.revision(t)
}

package attacks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/printable"
)

// Media types of bodies.
const (
	jsonType      = "application/json"
	yamlType      = "application/yaml"
	protobufType  = "application/vnd.kubernetes.protobuf"
	jsonPatchType = "application/json-patch+json"
	mergeType     = "application/merge-patch+json"
	strategicType = "application/strategic-merge-patch+json"
	applyType     = "application/apply-patch+yaml"
)

// request is an HTTP request of the administrator.
type request struct {
	method, path string
	mediaType    string // of the body; JSON if it is empty
	body         string
	header       []string // names and values in turn
}

// get, remove, post, put and patch return a list of one request, for the fields of a row.
func get(path string, header ...string) []request {
	return []request{{method: http.MethodGet, path: path, header: header}}
}

func remove(path string) []request { return []request{{method: http.MethodDelete, path: path}} }

func post(path, body string) []request { return postAs(path, jsonType, body) }

func postAs(path, mediaType, body string) []request {
	return []request{{method: http.MethodPost, path: path, mediaType: mediaType, body: body}}
}

func put(path, body string) []request {
	return []request{{method: http.MethodPut, path: path, body: body}}
}

func patch(path, mediaType, body string) []request {
	return []request{{method: http.MethodPatch, path: path, mediaType: mediaType, body: body}}
}

// answer is the response to a request. Its code is 0 if there is none.
type answer struct {
	code   int
	header http.Header
	body   []byte
	err    error
	took   time.Duration
}

// text returns the body, or the error if there is no response.
func (a answer) text() string {
	if a.err != nil {
		return a.err.Error()
	}
	return string(a.body)
}

// String returns the code and the start of the message.
func (a answer) String() string {
	const most = 110
	text := a.text()
	var status metav1.Status
	if json.Unmarshal(a.body, &status) == nil && status.Kind == "Status" {
		text = strings.TrimSpace(string(status.Reason) + " " + status.Message)
	}
	if len(text) > most {
		text = text[:most]
	}
	return fmt.Sprintf("%d %s", a.code, printable.Line(text))
}

// send sends a request as the administrator.
func (s *server) send(q request) answer {
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*maxAnswerTime)
	defer cancel()
	return s.sendBy(ctx, s.admin, q)
}

// sendBy sends a request with a client of this server.
func (s *server) sendBy(ctx context.Context, client *http.Client, q request) answer {
	started := time.Now()
	r, err := http.NewRequestWithContext(ctx, q.method, "https://"+s.address+q.path, strings.NewReader(q.body))
	if err != nil {
		return answer{err: err}
	}
	r.Header.Set("User-Agent", "attacks")
	if q.body != "" {
		r.Header.Set("Content-Type", jsonType)
	}
	if q.mediaType != "" {
		r.Header.Set("Content-Type", q.mediaType)
	}
	for i := 0; i+1 < len(q.header); i += 2 {
		r.Header.Set(q.header[i], q.header[i+1])
	}
	response, err := client.Do(r)
	if err != nil {
		return answer{err: err, took: time.Since(started)}
	}
	defer response.Body.Close()
	var body bytes.Buffer
	_, err = io.Copy(&body, io.LimitReader(response.Body, 256<<20))
	return answer{response.StatusCode, response.Header, body.Bytes(), err, time.Since(started)}
}

package golden_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/golden"
)

// wire is a client of one server.
type wire struct {
	client *http.Client
	host   string
}

// answer is a response. Header names are in lower case, and repeated headers are joined.
type answer struct {
	status  int
	headers map[string]string
	body    string
}

// connect returns a client of the HTTPS port of a server, whose requests arrive as they are recorded.
func connect(config *rest.Config) (*wire, error) {
	tls, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	client := &http.Client{
		Transport:     &http.Transport{TLSClientConfig: tls, DisableCompression: true},
		Timeout:       70 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &wire{client: client, host: strings.TrimPrefix(config.Host, "https://")}, nil
}

func (w *wire) do(s golden.Step, saved map[string]any) (answer, error) {
	req, err := http.NewRequest(s.Method, "https://"+w.host, strings.NewReader(fill(s.Body, saved)))
	if err != nil {
		return answer{}, err
	}
	req.URL = &url.URL{Scheme: "https", Host: w.host, Opaque: fill(s.Path, saved)} // the recorded path, byte for byte
	req.Header.Set("Accept-Encoding", "identity")
	for k, v := range s.Headers {
		req.Header.Set(k, v)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}, err
	}
	a := answer{status: resp.StatusCode, headers: map[string]string{},
		body: strings.ToValidUTF8(string(text), "\uFFFD")}
	for k, v := range resp.Header {
		a.headers[strings.ToLower(k)] = strings.Join(v, ", ")
	}
	return a, nil
}

var placeholder = regexp.MustCompile(`\{\{([\w.]+)\}\}`)

// fill replaces {{name}} with saved values.
func fill(text string, saved map[string]any) string {
	return placeholder.ReplaceAllStringFunc(text, func(whole string) string {
		if v, ok := saved[whole[2:len(whole)-2]]; ok {
			return fmt.Sprint(v)
		}
		return whole
	})
}

// pick returns the value at a dotted path in a JSON text, or nil.
func pick(body, path string) any {
	v, err := parseJSON(body)
	if err != nil {
		return nil
	}
	for part := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

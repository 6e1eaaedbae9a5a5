package nginx

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"testing"
)

// A response that a backend sends in parts, such as events, is forwarded part by part, starting with the
// header.
func TestStreamingResponse(t *testing.T) {
	t.Parallel()
	needNginx(t)
	more := make(chan struct{})
	events := backendServer(t, "", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, part := range []string{"", "data: something\n", "data: something\n"} {
			io.WriteString(w, part)
			w.(http.Flusher).Flush()
			select {
			case <-more:
			case <-r.Context().Done():
			}
		}
	}))
	l := newLab(t, service("web"), endpoints("web", events), newIngress("web").prefix("h.com", "/", "web").Ingress)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.http+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "h.com"
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	more <- struct{}{}
	lines := bufio.NewReader(response.Body)
	for range 2 {
		if line, err := lines.ReadString('\n'); line != "data: something\n" {
			t.Fatalf("%q, %v", line, err)
		}
		more <- struct{}{}
	}
	if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 {
		t.Errorf("the rest of the response: %q, %v", rest, err)
	}
}

package client_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/bowline-dev/bowline/client"
)

// endsEarly is a server whose answers end in the middle.
type endsEarly struct{}

func (endsEarly) RoundTrip(q *http.Request) (*http.Response, error) {
	body := io.MultiReader(strings.NewReader(`{"kind":"ConfigMap",`), iotest.ErrReader(errors.New("the server is gone")))
	return &http.Response{Request: q, StatusCode: http.StatusOK, Body: io.NopCloser(body)}, nil
}

// An answer that ends early is reported once, as an error: client-go's own log line of it would come from every
// controller that is stopped during a request. (The test is not parallel, because it replaces klog's output.)
func TestUnfinishedAnswerIsNotLogged(t *testing.T) {
	var logged bytes.Buffer
	klog.LogToStderr(false)
	klog.SetOutput(&logged)
	defer klog.LogToStderr(true)
	c, err := client.New(&rest.Config{Host: "http://unfinished", Transport: endsEarly{}, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.For[*corev1.ConfigMap](c).Get(t.Context(), "default", "a")
	klog.Flush()
	if err == nil || !strings.Contains(err.Error(), "the server is gone") || logged.Len() > 0 {
		t.Errorf("got error %v and log %q, want the server's error and nothing logged", err, logged.String())
	}
}

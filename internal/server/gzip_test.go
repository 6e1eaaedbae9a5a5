package server_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Large answers are compressed for clients with Accept-Encoding: gzip, as in Kubernetes; small ones and
// watches never are.
func TestLargeResponsesAreCompressed(t *testing.T) {
	t.Parallel()
	w := startTLS(t)
	for i := range 3 {
		cm := configMap(fmt.Sprint("m", i), "k", strings.Repeat("0123456789", 5_000))
		must(w.clients.CoreV1().ConfigMaps("default").Create(t.Context(), cm, metav1.CreateOptions{}))(t)
	}
	list := string(w.get(t, configMaps).want(t, http.StatusOK).body)
	for _, c := range []struct {
		path, accept, encoding string
		compressed             bool
	}{
		{configMaps, jsonType, "gzip", true},
		{configMaps, jsonType, "deflate, gzip, br", true},
		{configMaps, jsonType, "gzip;q=1.0", false},
		{configMaps, jsonType, "gzip;q=0", false},
		{configMaps, jsonType, "*", false},
		{configMaps, jsonType, "identity", false},
		{configMaps, protobufType, "gzip", true},
		{configMaps, yamlType, "gzip", true},
		{configMaps + "?pretty=true", jsonType, "gzip", true},
		{configMaps + "?includeObject=Object", tableType, "gzip", true},
		{configMaps, tableType, "gzip", false},        // 3 small rows
		{configMaps + "/m0", jsonType, "gzip", false}, // 50 kB
	} {
		r := w.get(t, c.path, "Accept", c.accept, "Accept-Encoding", c.encoding).want(t, http.StatusOK)
		if got := r.header.Get("Content-Encoding") == "gzip"; got != c.compressed {
			t.Errorf("%s as %s with %q: compressed %t, want %t (%d bytes)", c.path, c.accept, c.encoding, got,
				c.compressed, len(r.body))
		}
		if !c.compressed {
			continue
		}
		if r.header.Get("Vary") != "Accept-Encoding" || len(r.body) > len(list)/10 {
			t.Errorf("%s as %s: %d bytes, Vary %q", c.path, c.accept, len(r.body), r.header.Get("Vary"))
		}
		whole := must(gunzip(r.body))(t)
		if c.accept == jsonType && c.path == configMaps && string(whole) != list {
			t.Errorf("decompressed to %d bytes, want %d", len(whole), len(list))
		}
	}
	s := w.open(t, configMaps+"?watch=1", "Accept-Encoding", "gzip")
	if s.header.Get("Content-Encoding") != "" {
		t.Errorf("a watch is compressed")
	}
	s.want(t, "ADDED m0")
}

func gunzip(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

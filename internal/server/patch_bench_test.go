package server_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
)

const networksPath = "/apis/samplecrd.k8s.io/v1/namespaces/default/networks"

// BenchmarkCustomResourceWrites measures the writes of a controlled custom resource: it is created, gets a
// finalizer, and gets its status, in three writes by two managers.
func BenchmarkCustomResourceWrites(b *testing.B) {
	w := start(b)
	definition := must(os.ReadFile("../../examples/network/crd/network.yaml"))(b)
	w.create(b, definitionsPath, string(definition))
	writes := []struct {
		name, manager, method, path, media, body string
		code                                     int
	}{
		{"create", "user", http.MethodPost, "", jsonType, `{"apiVersion":"samplecrd.k8s.io/v1","kind":"Network",` +
			`"metadata":{"name":"NAME"},"spec":{"cidr":"10.0.0.0/24","gateway":"10.0.0.1"}}`, http.StatusCreated},
		{"finalizer", "controller", http.MethodPatch, "/NAME", mergeType,
			`{"metadata":{"finalizers":["example.com/held"]}}`, http.StatusOK},
		{"status", "controller", http.MethodPatch, "/NAME/status", mergeType,
			`{"status":{"provider":"record","id":"NAME","observedGeneration":1,"conditions":[{"type":"Ready","status":"True",` +
				`"observedGeneration":1,"lastTransitionTime":"2026-01-02T03:04:05Z","reason":"Provisioned",` +
				`"message":"10.0.0.0/24 with gateway 10.0.0.1"}]}}`, http.StatusOK},
	}
	made := 0
	for upTo, last := range writes {
		b.Run(last.name, func(b *testing.B) {
			first := made
			made += b.N
			send := func(i, n int) {
				write, name := writes[n], fmt.Sprintf("network-%d", first+i)
				path, body := strings.ReplaceAll(write.path, "NAME", name), strings.ReplaceAll(write.body, "NAME", name)
				w.send(b, write.method, networksPath+path, body, "Content-Type", write.media, "User-Agent",
					write.manager).
					want(b, write.code)
			}
			for i := range b.N {
				for n := range upTo {
					send(i, n)
				}
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				send(i, upTo)
			}
		})
	}
}

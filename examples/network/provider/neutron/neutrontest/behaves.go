package neutrontest

import (
	"embed"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
)

// behaviour contains scripts of requests, each followed by the response of a real Neutron (Debian's
// neutron-server 21.0.0). The client is named before >; "if N" is a precondition on the revision; $1 is the
// ID of the first object that was created, and so on; after | follow the fields of the response to compare.
//
//	member> PUT /networks/$1 if 2 {"network": {"name": "b"}} | name revision_number
//	200 {"network":{"name":"b","revision_number":3}}
//
//go:embed behaviour
var behaviour embed.FS

// Contract is the contract of a Neutron for tests, real or fake: it sends the requests of the scripts and
// compares the responses. newClient creates clients.
func Contract(t *testing.T, newClient func(project, role string) *gophercloud.ServiceClient) {
	files, err := behaviour.ReadDir("behaviour")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(file.Name(), ".txt"), func(t *testing.T) {
			t.Parallel()
			want, err := behaviour.ReadFile("behaviour/" + file.Name())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), play(t, string(want), newClient)); d != "" {
				t.Error("the responses differ from those of a real Neutron (-want +got):\n" + d)
			}
		})
	}
}

// play sends the requests of a script and returns the script with the responses.
func play(t *testing.T, script string, newClient func(project, role string) *gophercloud.ServiceClient) string {
	t.Helper()
	s := newScriptRunner(newClient)
	var out strings.Builder
	for line := range strings.Lines(script) {
		switch line := strings.TrimSuffix(line, "\n"); {
		case line == "" || strings.HasPrefix(line, "#"):
			out.WriteString(line + "\n")
		case strings.Contains(line, "> "):
			answer, err := s.ask(t.Context(), line)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			out.WriteString(line + "\n" + answer + "\n")
		}
	}
	return out.String()
}

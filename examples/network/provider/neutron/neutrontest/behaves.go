package neutrontest

import (
	"embed"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
)

// behaviour are files of requests, each followed by what a real Neutron answered (Debian's neutron-server 21.0.0). Who asks
// stands before >, and "if N" is a precondition on the revision. $1 is the id of the first object that was made, and so on;
// fields after | are those of the answer that are of interest.
//
//	member> PUT /networks/$1 if 2 {"network": {"name": "b"}} | name revision_number
//	200 {"network":{"name":"b","revision_number":3}}
//
//go:embed behaviour
var behaviour embed.FS

// Behaves is the contract of what tests take for a Neutron, real or not: it asks what behaviour has, and compares the
// answers. newClient makes clients.
func Behaves(t *testing.T, newClient func(project, role string) *gophercloud.ServiceClient) {
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
				t.Error("this is not what a real Neutron answers (-want +got):\n" + d)
			}
		})
	}
}

// play asks what a script has, and is the script with the answers to that.
func play(t *testing.T, script string, newClient func(project, role string) *gophercloud.ServiceClient) string {
	t.Helper()
	s := newSpeaker(newClient)
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

package transcript

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/bowline-dev/bowline/bowlinetest"
)

// played returns the transcript of commands run on a plane with the default controllers.
func played(t *testing.T, commands, files string) string {
	t.Helper()
	var got []byte
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		got = play(t, p, txtar.Parse([]byte(commands+files)))
	})
	return string(got)
}

// commands has each command with its result.
const commands = `A pod is declared, runs, and goes. What is no result of a command stays.

$ apply pod.yaml
+ pod/web status {"phase":"Pending","qosClass":"BestEffort"}
$ run
~ pod/web Ready True; status.phase "Running", was "Pending"
$ status pod/web {"podIP":"10.1.0.1"}
~ pod/web status.podIP "10.1.0.1"; status.podIPs [{"ip":"10.1.0.1"}]
$ patch pod/web {"metadata":{"labels":{"tier":"front"}}}
~ pod/web metadata.labels.tier "front"
$ wait 5s
$ delete pod/web
~ pod/web metadata.deletionGracePeriodSeconds 30; metadata.deletionTimestamp at 41s

All of a kind are changed by one command.

$ patch pod/* {"metadata":{"labels":{"tier":"back"}}}
~ pod/web metadata.labels.tier "back", was "front"

What is refused says so, and the next command is carried out.

$ delete pod/other
? pods "other" not found
$ apply nothing.yaml
? the transcript has no file nothing.yaml
$ delete boat/other
? unknown resource boat
$ fly
? unknown command "fly"

What belongs to another object is found by its uid, and collected with it.

$ apply owner.yaml
+ configmap/owner
$ apply owned.yaml
+ configmap/owned of configmap/owner
$ delete configmap/owner Background
- configmap/owned
- configmap/owner

Of long lists the difference is shown.

$ apply two.yaml
+ endpoints/web
$ apply changed.yaml
~ endpoints/web subsets.0.addresses [{"ip":"192.0.2.9","nodeName":"a-node-with-a-name-that-is-rather-long"}], was [{"ip":"192.0.2.1","nodeName":"a-node-with-a-name-that-is-rather-long"}]
$ apply three.yaml
~ endpoints/web subsets with {"addresses":[{"ip":"192.0.2.3","nodeName":"a-node-with-a-name-that-is-rather-long"}],"ports":[{"port":82,"protocol":"TCP"}]}
$ apply one.yaml
~ endpoints/web subsets without {"addresses":[{"ip":"192.0.2.9","nodeName":"a-node-with-a-name-that-is-rather-long"}],"ports":[{"port":80,"protocol":"TCP"}]}; subsets without {"addresses":[{"ip":"192.0.2.3","nodeName":"a-node-with-a-name-that-is-rather-long"}],"ports":[{"port":82,"protocol":"TCP"}]}

`

var files = `-- pod.yaml --
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {nodeName: n1, containers: [{name: web, image: "web:1"}]}
-- owner.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: owner}
-- owned.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: owned, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: $uid(configmap/owner), controller: true}]}
` + endpoints("two.yaml", endpoint{1, 80}, endpoint{2, 81}) +
	endpoints("changed.yaml", endpoint{9, 80}, endpoint{2, 81}) +
	endpoints("three.yaml", endpoint{9, 80}, endpoint{2, 81}, endpoint{3, 82}) +
	endpoints("one.yaml", endpoint{2, 81})

// endpoint is the last byte of an address, and a port.
type endpoint struct{ address, port int }

// endpoints returns a file of Endpoints with one subset per endpoint. The lines are long enough to exceed
// longList.
func endpoints(file string, subsets ...endpoint) string {
	text := "-- " + file + " --\napiVersion: v1\nkind: Endpoints\nmetadata: {name: web}\nsubsets:\n"
	for _, s := range subsets {
		text += fmt.Sprintf("- {addresses: [{ip: 192.0.2.%d, nodeName: a-node-with-a-name-that-is-rather-long}], "+
			"ports: [{port: %d}]}\n",
			s.address, s.port)
	}
	return text
}

func TestCommandsPrintWhatChanged(t *testing.T) {
	t.Parallel()
	if at := difference([]byte(commands), []byte(played(t, commands, files))); at != "" {
		t.Errorf("line %s", at)
	}
}

// The recorded results do not influence how a transcript runs; differences from them are reported.
func TestTranscriptMismatchIsReported(t *testing.T) {
	t.Parallel()
	const wrong = "$ apply owner.yaml\n+ configmap/another\n- configmap/that-never-was\n\n"
	got := played(t, wrong, files)
	if want := "$ apply owner.yaml\n+ configmap/owner\n\n"; got != want {
		t.Errorf("it is\n%swant\n%s", got, want)
	}
	if got, want := difference([]byte(wrong),
		[]byte(got)), "2\nis:   + configmap/owner\nwant: + configmap/another"; got != want {
		t.Errorf("got report %q, want %q", got, want)
	}
	if got := difference([]byte("a\n"), []byte("a\nb\n")); got != "2\nis:   b\nwant: " {
		t.Errorf("got report %q", got)
	}
}

// Lines about many pods are combined into one. From then on, events about a few of these pods omit their
// numbers too.
func TestLinesAreMerged(t *testing.T) {
	t.Parallel()
	c := collapsed{}
	var lines, want []string
	for n := range maxSimilar + 1 {
		lines = append(lines, fmt.Sprintf("+ pod/web-#%d of replicaset/web", n))
	}
	for n := range maxSimilar {
		lines = append(lines, fmt.Sprintf("+ pod/db-#%d of replicaset/db", n))
		want = append(want, lines[len(lines)-1])
	}
	lines = append(lines, "~ deployment/web status.replicas 21")
	want = append([]string{"+ pod/web-# of replicaset/web (21 alike)"},
		append(want, "~ deployment/web status.replicas 21")...)
	if got := c.collapse(lines); !slices.Equal(got, want) {
		t.Errorf("it is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	events := []string{"! Created pod: web-#7", "! Created pod: web-#9", "! Created pod: db-#1", "! Sick", "! Sick"}
	want = []string{"! Created pod: web-# (2 alike)", "! Created pod: db-#1", "! Sick", "! Sick"}
	if got := c.collapse(events); !slices.Equal(got, want) {
		t.Errorf("it is %q, want %q", got, want)
	}
}

package level_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/examples/level/edge"
	"github.com/bowline-dev/bowline/examples/level/level"
)

// The programs' logs are not relevant to the tests.
func init() {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	klog.SetSlogLogger(slog.Default())
}

// scenario is the example of the documents: a Deployment requests two pods, one of them is deleted, and then
// the Deployment is scaled to three.
func scenario(name string, run func(context.Context, *rest.Config) error) bowlinetest.Scenario {
	return bowlinetest.Scenario{
		Processes: []bowlinetest.Process{{Name: name, Run: run}},
		Act: func(ctx context.Context, config *rest.Config) error {
			clients := kubernetes.NewForConfigOrDie(config)
			pause := func() { time.Sleep(5 * time.Second) }
			if _, err := clients.AppsV1().Deployments("default").Create(ctx, nginx(),
				metav1.CreateOptions{}); err != nil {
				return err
			}
			pause()
			err := clients.CoreV1().Pods("default").Delete(ctx, "nginx-0", metav1.DeleteOptions{})
			if err != nil && !apierrors.IsNotFound(err) { // a fault may have prevented its creation
				return err
			}
			pause()
			three := []byte(`{"spec":{"replicas":3}}`)
			_, err = clients.AppsV1().Deployments("default").Patch(ctx, "nginx", types.MergePatchType, three,
				metav1.PatchOptions{})
			return err
		},
		Seed: 1,
	}
}

// lost is the event that is lost in the document.
const lost = "dropped: DELETED pods default/nginx-0 #1 of %s; the user stops after 2"

func TestEdgeTriggeredProgramMissesLostEvent(t *testing.T) {
	t.Parallel()
	s := scenario("edge", edge.Run)
	s.Replay = fmt.Sprintf(lost, "edge")
	f := bowlinetest.Search(t, s).Smallest()
	if f == nil {
		t.Fatal("the event was dropped, but no run failed")
	}
	onPage(t, f.String())
}

func TestLevelTriggeredProgramRecoversLostEvent(t *testing.T) {
	t.Parallel()
	s := scenario("level", level.Run)
	s.Replay = fmt.Sprintf(lost, "level")
	bowlinetest.Explore(t, s)
}

// TestToleratedFaultsMatchDocument compares the table in the document with the exploration: for each fault, the number
// of points at which each program reaches a different final state. The points of both programs are the same, except
// that only one of them lists.
func TestToleratedFaultsMatchDocument(t *testing.T) {
	t.Parallel()
	byEvents, byComparing := bowlinetest.Search(t, scenario("edge", edge.Run)),
		bowlinetest.Explore(t, scenario("level", level.Run))
	var rows strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(byComparing.Points)) {
		tried := max(byEvents.Points[kind], byComparing.Points[kind])
		fmt.Fprintf(&rows, "| %s | %d | %d | %d |\n", kind, tried, failing(byEvents, kind), failing(byComparing, kind))
	}
	onPage(t, rows.String())
}

// failing returns the number of points at which a fault leads to a different final state, whether or not the
// user continues.
func failing(r *bowlinetest.Report, kind bowlinetest.Fault) int {
	points := map[string]bool{}
	for _, f := range r.Failures {
		if slices.Contains(f.Kinds, kind) {
			point, _, _ := strings.Cut(f.Replay, ";")
			points[point] = true
		}
	}
	return len(points)
}

// onPage checks that docs/level-not-edge.md contains the lines of a report, ignoring times.
func onPage(t *testing.T, report string) {
	t.Helper()
	data, err := os.ReadFile("../testdata/docs/level-not-edge.md")
	if err != nil {
		t.Fatal(err)
	}
	var page []string
	for line := range strings.Lines(string(data)) {
		page = append(page, plain(line))
	}
	for line := range strings.Lines(report) {
		if !slices.Contains(page, plain(line)) {
			t.Errorf("docs/level-not-edge.md does not have the line %q", line)
		}
	}
}

// TestPageQuotesPrograms checks that each block of Go on the page is part of one of the programs.
func TestPageQuotesPrograms(t *testing.T) {
	t.Parallel()
	var programs string
	for _, file := range []string{"edge/edge.go", "level/level.go"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		programs += string(data)
	}
	page, err := os.ReadFile("../testdata/docs/level-not-edge.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```go\n")[1:]
	for _, block := range blocks {
		if code, _, _ := strings.Cut(block, "```"); !strings.Contains(programs, code) {
			t.Errorf("neither program has\n%s", code)
		}
	}
	if len(blocks) != 2 {
		t.Errorf("the page has %d blocks of Go, want 2", len(blocks))
	}
}

var column = regexp.MustCompile(`^[0-9.]+s `)

// plain returns a line without its time and with single spaces.
func plain(line string) string {
	return strings.Join(strings.Fields(column.ReplaceAllString(strings.TrimSpace(line), "")), " ")
}

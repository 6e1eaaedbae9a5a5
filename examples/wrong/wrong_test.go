package wrong_test

import (
	"context"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/examples/wrong/edge"
	"github.com/bowline-dev/bowline/examples/wrong/forgetful"
	"github.com/bowline-dev/bowline/examples/wrong/stale"
)

// The controllers' logs are not relevant to the tests.
func init() {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	klog.SetSlogLogger(slog.Default())
}

// configMaps returns a client of the ConfigMaps in the namespace default.
func configMaps(config *rest.Config) typed.ConfigMapInterface {
	return kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
}

func create(ctx context.Context, config *rest.Config, name string, labels, data map[string]string) error {
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Data: data}
	_, err := configMaps(config).Create(ctx, c, metav1.CreateOptions{})
	return err
}

// change changes the data of a ConfigMap after five seconds.
func change(ctx context.Context, config *rest.Config, name, data string) error {
	time.Sleep(5 * time.Second)
	patch := []byte(`{"data":` + data + `}`)
	_, err := configMaps(config).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// finds checks that the exploration of a scenario finds at least one failure for each of these kinds of
// faults. It compares the trace and the problems of the smallest failure with want, ignoring times, and
// checks that docs/explore.md shows them.
func finds(t *testing.T, s bowlinetest.Scenario, kinds []bowlinetest.Fault, want string) {
	t.Helper()
	r := bowlinetest.Search(t, s)
	t.Log(r)
	f := r.Smallest()
	if f == nil {
		t.Fatal("no failure was found")
	}
	t.Logf("the smallest failing run:\n%s", f)
	for _, kind := range kinds {
		if !slices.ContainsFunc(r.Failures, func(f *bowlinetest.Failure) bool {
			return slices.Contains(f.Kinds, kind)
		}) {
			t.Errorf("no failure with a fault of the kind %q was found", kind)
		}
	}
	got := column.ReplaceAllString(f.Trace(), "") + strings.Join(f.Problems, "\n")
	got = spaces.ReplaceAllString(got, "  ")
	if d := cmp.Diff(strings.TrimSpace(want), got); d != "" {
		t.Errorf("the smallest trace differs (-want +got):\n%s", d)
	}
	page, err := os.ReadFile("../testdata/docs/explore.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := spaces.ReplaceAllString(column.ReplaceAllString(string(page), ""), "  ")
	for line := range strings.Lines(f.String()) {
		line = strings.TrimSpace(column.ReplaceAllString(strings.TrimSpace(line), ""))
		if !strings.Contains(documented, spaces.ReplaceAllString(line, "  ")) {
			t.Errorf("docs/explore.md does not have the line %q", line)
		}
	}
}

var (
	column = regexp.MustCompile(`(?m)^[0-9.]+s +`)
	spaces = regexp.MustCompile(` {2,}`)
)

func TestActingOnEventsIsFound(t *testing.T) {
	t.Parallel()
	finds(t, bowlinetest.Scenario{
		Processes: []bowlinetest.Process{{Name: "edge", Run: edge.Run}},
		Act: func(ctx context.Context, config *rest.Config) error {
			label := map[string]string{"mirror": "yes"}
			if err := create(ctx, config, "a", label, map[string]string{"k": "1"}); err != nil {
				return err
			}
			time.Sleep(5 * time.Second)
			if err := create(ctx, config, "b", label, nil); err != nil {
				return err
			}
			if err := change(ctx, config, "a", `{"k":"2"}`); err != nil {
				return err
			}
			return configMaps(config).Delete(ctx, "b", metav1.DeleteOptions{})
		},
	}, []bowlinetest.Fault{bowlinetest.CrashBefore, bowlinetest.CrashAfter, bowlinetest.Refused, bowlinetest.Dropped}, `
user  create configmaps default/a  201
edge  create secrets default/a  500  <- refused
user  makes no more changes
in the end, Secret default/a: is missing
`)
}

func TestTrustingAStaleCacheIsFound(t *testing.T) {
	t.Parallel()
	finds(t, bowlinetest.Scenario{
		Processes: []bowlinetest.Process{{Name: "stale", Run: stale.Run}},
		Act: func(ctx context.Context, config *rest.Config) error {
			if err := create(ctx, config, "a", map[string]string{"kind": "order"}, nil); err != nil {
				return err
			}
			return change(ctx, config, "a", `{"amount":"2"}`)
		},
	}, []bowlinetest.Fault{bowlinetest.Behind, bowlinetest.Delayed, bowlinetest.Dropped}, `
user  create configmaps default/a  201
stale  create secrets default/a-*  201  <- cache behind after
user  patch configmaps default/a  200
stale  create secrets default/a-*  201
in the end, Secret default/a-* (2): is unexpected
`)
}

func TestForgettingIdempotenceIsFound(t *testing.T) {
	t.Parallel()
	finds(t, bowlinetest.Scenario{
		Setup: func(ctx context.Context, config *rest.Config) error {
			return create(ctx, config, forgetful.Till, nil, nil)
		},
		Processes: []bowlinetest.Process{{Name: "till", Run: forgetful.Run}},
		Act: func(ctx context.Context, config *rest.Config) error {
			return create(ctx, config, "a", map[string]string{"kind": "sale"}, map[string]string{"amount": "5"})
		},
	},
		[]bowlinetest.Fault{bowlinetest.CrashBefore, bowlinetest.CrashAfter, bowlinetest.Refused, bowlinetest.Lost,
			bowlinetest.Conflict}, `
user  create configmaps default/a  201
till  update configmaps default/till  200  <- answer lost
till  update configmaps default/till  200
till  update configmaps default/a  200
in the end, ConfigMap default/till: data.total is "10", want "5"
`)
}

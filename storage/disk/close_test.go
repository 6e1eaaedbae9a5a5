package disk_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/internal/store/log/disk"
)

// TestPlanesOnDiskLeaveNothingOpen checks that planes that ran or failed to start leave no files or
// goroutines, and that each plane has the objects that earlier ones stored. It is not parallel because it
// examines the whole process.
func TestPlanesOnDiskLeaveNothingOpen(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the open files of a process are counted in /proc")
	}
	dir := filepath.Join(t.TempDir(), "objects")
	kept := map[string]string{"kept": ""}
	live := func(n int, o bowline.Options) {
		t.Helper()
		var err error
		if o.Storage, err = disk.Open(dir, disk.Options{}); err != nil {
			t.Fatal(err)
		}
		plane, err := bowline.Start(t.Context(), o)
		if err != nil {
			if o.Listen == "" {
				t.Fatal(err)
			}
			return
		}
		maps := kubernetes.NewForConfigOrDie(plane.RESTConfig()).CoreV1().ConfigMaps("default")
		next := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("a-", n), Labels: kept}}
		if _, err := maps.Create(t.Context(), next, metav1.CreateOptions{}); err != nil {
			t.Error(err)
		}
		if list, err := maps.List(t.Context(), metav1.ListOptions{LabelSelector: "kept"}); err != nil ||
			len(list.Items) != n+1 {
			t.Errorf("plane %d has %d objects (%v)", n, len(list.Items), err)
		}
		if err := plane.Close(); err != nil {
			t.Error(err)
		}
	}
	live(0, bowline.Options{}) // opens what a process opens only once
	goroutines, files := goleak.IgnoreCurrent(), openFiles(t)
	for n := range 5 {
		live(n+1, bowline.Options{})
		live(0, bowline.Options{Listen: "nowhere"})
	}
	if now := openFiles(t); !slices.Equal(now, files) {
		t.Errorf("open are %q, and were %q", now, files)
	}
	if err := goleak.Find(goroutines); err != nil {
		t.Error(err)
	}
}

// openFiles returns the files that this process has open, sorted.
func openFiles(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil { // on error it was the directory itself
			files = append(files, to)
		}
	}
	slices.Sort(files)
	return files
}

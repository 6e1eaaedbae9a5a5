package bowline_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/admission"
)

// stuck is a plugin that blocks creates of a resource, whatever their contexts do, until release is closed.
type stuck struct {
	resource         string
	entered, release chan struct{}
}

func (stuck) Name() string { return "Stuck" }
func (s stuck) Handles(o admission.Operation, r schema.GroupResource, _ string) bool {
	return r.Resource == s.resource && o == admission.Create
}
func (s stuck) Admit(context.Context, *admission.Attributes, admission.Reader) error {
	select {
	case s.entered <- struct{}{}:
	default:
	}
	<-s.release
	return nil
}
func (stuck) Validate(context.Context, *admission.Attributes, admission.Reader) error { return nil }

// TestCloseNamesWhatDoesNotReturn closes planes with a request, and with a controller, that ignores its context. Close
// returns in time and names it. When it returns later, it gets an error from the closed store.
func TestCloseNamesWhatDoesNotReturn(t *testing.T) {
	t.Parallel()
	for resource, want := range map[string][]string{
		"configmaps": {"requests do not end: POST /api/v1/namespaces/default/configmaps (for "},
		"serviceaccounts": {"requests do not end: POST /api/v1/namespaces/default/serviceaccounts (for ",
			"controller serviceaccount: 5s after it was stopped, it is still reconciling ", "/default (for 5s)"},
	} {
		synctest.Test(t, func(t *testing.T) {
			plugin := stuck{resource, make(chan struct{}, 1), make(chan struct{})}
			plane, err := bowline.Start(t.Context(), bowline.Options{Plugins: []admission.Plugin{plugin}})
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- createMap(t.Context(), plane) }()
			<-plugin.entered
			began := time.Now()
			err = plane.Close()
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("%s: Close took %v, want at most half a minute", resource, took)
			}
			for _, text := range want {
				if err == nil || !strings.Contains(err.Error(), text) {
					t.Errorf("%s: got error %v, want %q", resource, err, text)
				}
			}
			if again := plane.Close(); again != err {
				t.Errorf("second Close: got error %v, want %v", again, err)
			}
			close(plugin.release)
			if err := <-ended; resource == "configmaps" && err == nil {
				t.Error("a write after Close succeeded")
			}
		})
	}
}

func createMap(ctx context.Context, plane *bowline.Plane) error {
	clients, err := kubernetes.NewForConfig(plane.RESTConfig())
	if err != nil {
		return err
	}
	_, err = clients.CoreV1().ConfigMaps("default").Create(ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	return err
}

package imagepolicy_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/api/imagepolicy/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/plugins/imagepolicy"
)

// backend is an HTTPS server that reviews images.
type backend struct {
	*httptest.Server
	mu      sync.Mutex
	reviews []v1alpha1.ImageReview
}

// startBackend starts a backend that answers with respond.
func startBackend(t *testing.T, respond func(w http.ResponseWriter, r *http.Request, n int)) *backend {
	t.Helper()
	b := &backend{}
	b.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review v1alpha1.ImageReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		b.mu.Lock()
		b.reviews = append(b.reviews, review)
		n := len(b.reviews)
		b.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		respond(w, r, n)
	}))
	t.Cleanup(b.Close)
	return b
}

func (b *backend) calls() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.reviews)
}

// plugin returns a plugin that asks the backend.
func (b *backend) plugin(t *testing.T, change func(*imagepolicy.Config)) *imagepolicy.Plugin {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "kubeconfig")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: b.Certificate().Raw})
	for name, text := range map[string]string{"ca.pem": string(ca), "kubeconfig": fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: images, cluster: {certificate-authority: ca.pem, server: %s/policy}}]
users: [{name: server, user: {}}]
contexts: [{name: c, context: {cluster: images, user: server}}]
current-context: c
`, b.URL)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var c imagepolicy.Config
	c.ImagePolicy.KubeConfigFile, c.ImagePolicy.RetryBackoff = file, 1
	if change != nil {
		change(&c)
	}
	p, err := imagepolicy.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func respond(status string) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, _ *http.Request, _ int) {
		fmt.Fprintf(w, `{"apiVersion":"imagepolicy.k8s.io/v1alpha1","kind":"ImageReview","status":%s}`, status)
	}
}

func pod(image string) *admission.Attributes {
	return &admission.Attributes{Operation: admission.Create,
		Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Namespace: "default", Name: "p",
		Object: &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"a.image-policy.k8s.io/ticket": "1", "other": "2"}},
			Spec: corev1.PodSpec{
				InitContainers:      []corev1.Container{{Image: "init"}},
				Containers:          []corev1.Container{{Image: image}},
				EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Image: "debug"}}},
			}}}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestReviews follows plugin/pkg/admission/imagepolicy.
func TestReviews(t *testing.T) {
	t.Parallel()
	const denied = `pods "p" is forbidden: `
	broken := func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(http.StatusInternalServerError) }
	allow := func(c *imagepolicy.Config) { c.ImagePolicy.DefaultAllow = true }
	for name, c := range map[string]struct {
		respond func(http.ResponseWriter, *http.Request, int)
		change  func(*imagepolicy.Config)
		want    string // an error that begins with it
		calls   int    // of two writes
		warns   bool
	}{
		"allowed": {respond(`{"allowed":true}`), nil, "", 1, false},
		"denied":  {respond(`{"allowed":false}`), nil, denied + "one or more images rejected by webhook backend", 1, false},
		"denied with a reason": {respond(`{"reason":"too old"}`), nil,
			denied + "image policy webhook backend denied one or more images: too old", 1, false},
		"no cache": {respond(`{"allowed":true}`), func(c *imagepolicy.Config) { c.ImagePolicy.AllowTTL = -1 }, "", 2, false},
		"repeated": {func(w http.ResponseWriter, r *http.Request, n int) {
			if n == 1 {
				broken(w, r, n)
			} else {
				respond(`{"allowed":true}`)(w, r, n)
			}
		}, nil, "", 2, false},
		"broken":          {broken, nil, denied + "an error on the server", 10, false},
		"broken, allowed": {broken, allow, "", 10, true},
		"no JSON":         {func(w http.ResponseWriter, _ *http.Request, _ int) { fmt.Fprint(w, "x") }, nil, denied + "couldn't get version/kind; json parse error", 2, false},
		"not permitted":   {func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(http.StatusForbidden) }, allow, "", 2, true},
		"a large response": {func(w http.ResponseWriter, _ *http.Request, _ int) {
			for block := strings.Repeat(" ", 1<<20); ; {
				if _, err := fmt.Fprint(w, block); err != nil {
					return
				}
			}
		}, nil, denied, 2, false},
		"a large reason": {respond(`{"reason":"` + strings.Repeat("x", 1<<19) + `"}`), nil,
			denied + "image policy webhook backend denied one or more images: " + strings.Repeat("x", 1<<10) + "...", 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := startBackend(t, c.respond)
			p := b.plugin(t, c.change)
			warnings := 0
			for range 2 {
				a := pod("nginx")
				a.Warn = func(string) { warnings++ }
				err := p.Validate(t.Context(), a, nil)
				if got := text(err); !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") || len(got) > 4096 {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
			}
			if b.calls() != c.calls || (warnings == 2) != c.warns {
				t.Errorf("%d calls, want %d; %d warnings", b.calls(), c.calls, warnings)
			}
		})
	}
}

// TestQuestions checks what the backend is asked.
func TestQuestions(t *testing.T) {
	t.Parallel()
	b := startBackend(t, respond(`{"allowed":true}`))
	p := b.plugin(t, nil)
	ephemeral := pod("nginx")
	ephemeral.Operation, ephemeral.Subresource = admission.Update, "ephemeralcontainers"
	for _, a := range []*admission.Attributes{pod("nginx"), ephemeral} {
		if !p.Handles(a.Operation, a.Resource.GroupResource(), a.Subresource) {
			t.Error("the plugin does not handle the write")
		}
		if err := p.Validate(t.Context(), a, nil); err != nil {
			t.Fatal(err)
		}
	}
	for i, images := range [][]string{{"nginx", "init"}, {"debug"}} {
		spec := b.reviews[i].Spec
		var got []string
		for _, c := range spec.Containers {
			got = append(got, c.Image)
		}
		if !slices.Equal(got, images) || spec.Namespace != "default" || len(spec.Annotations) != 1 ||
			spec.Annotations["a.image-policy.k8s.io/ticket"] != "1" {
			t.Errorf("%+v", spec)
		}
	}
}

// TestHangingBackend checks that a write ends with its context although the backend does not answer.
func TestHangingBackend(t *testing.T) {
	t.Parallel()
	b := startBackend(t, func(_ http.ResponseWriter, r *http.Request, _ int) { <-r.Context().Done() })
	for _, allow := range []bool{false, true} {
		p := b.plugin(t, func(c *imagepolicy.Config) { c.ImagePolicy.DefaultAllow = allow })
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := p.Validate(ctx, pod("nginx"), nil); text(err) != "context deadline exceeded" {
			t.Error(err)
		}
	}
}

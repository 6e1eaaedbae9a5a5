package up

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/serve"
	"github.com/bowline-dev/bowline/internal/auth/pki"
)

// TestLongRunningServerRenewsCertificates checks every week for three years that the certificates
// of the server and of the kubeconfig are valid for at least another week.
func TestLongRunningServerRenewsCertificates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		keys, err := pki.New([]string{"127.0.0.1"})
		if err != nil {
			t.Fatal(err)
		}
		plane, err := bowline.Start(t.Context(), bowline.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer plane.Close()
		home := &serve.Home{Certificates: keys, Kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
		plan := &plan{log: slog.New(slog.DiscardHandler)}
		if err := home.Publish(plan.url(plane)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- plan.renew(ctx, plane, home) }()
		const week = 7 * 24 * time.Hour
		for range 3 * 52 {
			time.Sleep(week)
			synctest.Wait()
			if until := expiryOfKubeconfig(t, home.Kubeconfig); time.Until(until) < week {
				t.Fatalf("got a client certificate that expires on %s, want it valid for a week from %s", until,
					time.Now())
			}
			server, err := keys.ServerConfig().GetCertificate(nil)
			if err != nil {
				t.Fatal(err)
			}
			if until := server.Leaf.NotAfter; time.Until(until) < week {
				t.Fatalf("got a server certificate that expires on %s, want it valid for a week from %s", until,
					time.Now())
			}
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// expiryOfKubeconfig returns the expiry time of the client certificate in a kubeconfig.
func expiryOfKubeconfig(t *testing.T, path string) time.Time {
	t.Helper()
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode of the kubeconfig: got %v, error %v; want 0600", info.Mode(), err)
	}
	certificates, err := cert.ParseCertsPEM(config.AuthInfos["bowline"].ClientCertificateData)
	if err != nil {
		t.Fatal(err)
	}
	return certificates[0].NotAfter
}

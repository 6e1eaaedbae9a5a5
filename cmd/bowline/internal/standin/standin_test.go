package standin

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/auth/pki"
)

// TestServersStartAndStop starts and stops both servers as envtest's Environment does, on free ports.
func TestServersStartAndStop(t *testing.T) {
	t.Parallel()
	keys, dir := certificates(t)
	etcd, stopEtcd := background(t, Etcd, "--listen-client-urls=http://127.0.0.1:0", "--data-dir="+dir,
		"--unsafe-no-fsync=true")
	args := []string{"--secure-port=0", "--cert-dir=" + dir, // without --bind-address it listens on 127.0.0.1
		"--client-ca-file=" + filepath.Join(dir, "ca.crt"),
		"--etcd-servers=http://" + etcd, "--authorization-mode=RBAC"}
	address, stop := background(t, APIServer, args...)
	admin := keys.Admin()
	key, err := admin.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	config := &rest.Config{Host: "https://" + address,
		TLSClientConfig: rest.TLSClientConfig{CAData: keys.AuthorityPEM(), CertData: admin.CertPEM(), KeyData: key}}
	connections, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	clients, err := kubernetes.NewForConfigAndClient(config, connections)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := clients.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	finalize(t, clients)
	connections.CloseIdleConnections()
	err = APIServer(t.Context(), args, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "another API server used the etcd at http://"+etcd) {
		t.Errorf("second API server: got error %v, want that another one used the etcd", err)
	}
	for _, end := range []func() error{stop, stopEtcd} {
		if err := end(); err != nil {
			t.Error(err)
		}
	}
}

// finalize deletes a namespace and removes its finalizer, as suites do without a namespace controller. The
// namespace must not disappear between these steps.
func finalize(t *testing.T, clients kubernetes.Interface) {
	t.Helper()
	namespaces := clients.CoreV1().Namespaces()
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "made"}}
	if _, err := namespaces.Create(t.Context(), made, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := namespaces.Delete(t.Context(), "made", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for range 100 { // leave time for a controller to finalize it
		ns, err := namespaces.Get(t.Context(), "made", metav1.GetOptions{})
		if err != nil || ns.Status.Phase != corev1.NamespaceTerminating || len(ns.Spec.Finalizers) != 1 {
			t.Fatalf("deleted namespace: got %+v, error %v; want it terminating, with its finalizer", ns, err)
		}
		made = ns
	}
	made.Spec.Finalizers = nil
	if _, err := namespaces.Finalize(t.Context(), made, metav1.UpdateOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := namespaces.Get(t.Context(), "made", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("get after finalization: got error %v, want not found", err)
	}
}

// background runs a program until stop is called, and returns the address that the program prints.
func background(t *testing.T, run func(context.Context, []string, io.Writer, io.Writer) error,
	args ...string) (address string, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	output, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, args, io.Discard, w)
		w.CloseWithError(io.ErrUnexpectedEOF)
		ended <- err
	}()
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if _, after, ok := strings.Cut(lines.Text(), " on 127.0.0.1:"); ok {
			address = "127.0.0.1:" + strings.TrimRight(strings.Fields(after)[0], ";,")
			break
		}
	}
	if address == "" {
		t.Fatal(<-ended)
	}
	go io.Copy(io.Discard, output)
	return address, func() error { cancel(); return <-ended }
}

// certificates creates a folder with the certificates and keys that envtest creates.
func certificates(t *testing.T) (*pki.Keeper, string) {
	t.Helper()
	keys, err := pki.New(pki.Hosts("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	pair, err := keys.ServerConfig().GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string][]byte{
		"apiserver.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}),
		"apiserver.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
		"ca.crt":        keys.AuthorityPEM(), "empty.crt": nil,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return keys, dir
}

func TestServersReportStartFailures(t *testing.T) {
	t.Parallel()
	_, dir := certificates(t)
	foreign := httptest.NewServer(nil)
	defer foreign.Close()
	at := func(name string) string { return filepath.Join(dir, name) }
	good := []string{"--cert-dir=" + dir, "--client-ca-file=" + at("ca.crt")}
	for refusal, args := range map[string][]string{
		"no server certificate": {},
		"no-such.crt": {"--tls-cert-file=" + at("no-such.crt"),
			"--tls-private-key-file=" + at("apiserver.key")},
		"no client could authenticate":              {"--cert-dir=" + dir},
		"empty.crt contains no certificate":         {"--cert-dir=" + dir, "--client-ca-file=" + at("empty.crt")},
		"--etcd-servers is missing":                 good,
		"etcd must be started first":                append(good, "--etcd-servers=http://127.0.0.1:1"),
		"is not bowline's etcd":                     append(good, "--etcd-servers="+foreign.URL),
		`--service-cluster-ip-range" flag: bowline`: append(good, "--service-cluster-ip-range=fd00::/108"),
	} {
		if err := APIServer(t.Context(), args, io.Discard, io.Discard); err == nil ||
			!strings.Contains(err.Error(), refusal) {
			t.Errorf("%q: got error %v, want %s", args, err, refusal)
		}
	}
}

package clientgo

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/bowline-dev/bowline/compatibility/plane"
)

// TestCredentialsFromKubeconfig checks credentials in the kubeconfig, in separate files,
// and from a program.
func TestCredentialsFromKubeconfig(t *testing.T) {
	t.Parallel()
	config, dir := plane.Start(t), t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	credential := plane.Must(json.Marshal(map[string]any{
		"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
		"status": map[string]string{"clientCertificateData": string(config.CertData),
			"clientKeyData": string(config.KeyData)},
	}))(t)
	for name, user := range map[string]*api.AuthInfo{
		"data":  {ClientCertificateData: config.CertData, ClientKeyData: config.KeyData},
		"files": {ClientCertificate: write("cert", config.CertData), ClientKey: write("key", config.KeyData)},
		"program": {Exec: &api.ExecConfig{APIVersion: "client.authentication.k8s.io/v1",
			InteractiveMode: api.NeverExecInteractiveMode,
			Command:         "cat", Args: []string{write("out", credential)}}},
	} {
		kubeconfig := filepath.Join(dir, name+".kubeconfig")
		err := clientcmd.WriteToFile(api.Config{
			Clusters: map[string]*api.Cluster{"c": {Server: config.Host,
				CertificateAuthorityData: config.CAData}},
			AuthInfos:      map[string]*api.AuthInfo{"u": user},
			Contexts:       map[string]*api.Context{"x": {Cluster: "c", AuthInfo: "u"}},
			CurrentContext: "x",
		}, kubeconfig)
		if err != nil {
			t.Fatal(err)
		}
		clients := plane.Must(kubernetes.NewForConfig(plane.Must(clientcmd.BuildConfigFromFlags("", kubeconfig))(t)))(t)
		if _, err := clients.CoreV1().Namespaces().Get(t.Context(), ns, metav1.GetOptions{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAnonymousAndImpersonatedRequestsAreRejected checks that clients without a certificate are unauthorized and that
// an administrator who acts as another user has only the rights of that user.
func TestAnonymousAndImpersonatedRequestsAreRejected(t *testing.T) {
	t.Parallel()
	config := plane.Start(t)
	impersonator := rest.CopyConfig(config)
	impersonator.Impersonate = rest.ImpersonationConfig{UserName: "somebody"}
	secrets := func(c *rest.Config) error {
		_, err := plane.Must(kubernetes.NewForConfig(c))(t).CoreV1().Secrets(ns).List(t.Context(), metav1.ListOptions{})
		return err
	}
	if err := secrets(rest.AnonymousClientConfig(config)); !apierrors.IsUnauthorized(err) {
		t.Errorf("anonymous request: got error %v, want Unauthorized", err)
	}
	if err := secrets(impersonator); !apierrors.IsForbidden(err) {
		t.Errorf("impersonated request: got error %v, want Forbidden", err)
	}
}

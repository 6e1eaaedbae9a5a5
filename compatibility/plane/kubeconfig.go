package plane

import (
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig writes a kubeconfig for a server and returns the file's name. The file is removed when the test
// ends.
func Kubeconfig(t testing.TB, config *rest.Config) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	err := clientcmd.WriteToFile(api.Config{
		Clusters: map[string]*api.Cluster{"c": {Server: config.Host, CertificateAuthorityData: config.CAData}},
		AuthInfos: map[string]*api.AuthInfo{"u": {ClientCertificateData: config.CertData,
			ClientKeyData: config.KeyData}},
		Contexts:       map[string]*api.Context{"x": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "x",
	}, file)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

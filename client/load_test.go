package client_test

import (
	"context"
	"errors"
	"flag"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/bowline-dev/bowline/client"
)

// kubeconfigFor writes a kubeconfig with one context, of that cluster and user.
func kubeconfigFor(t *testing.T, cluster clientcmdapi.Cluster, user clientcmdapi.AuthInfo) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["there"], config.AuthInfos["me"] = &cluster, &user
	config.Contexts["mine"] = &clientcmdapi.Context{Cluster: "there", AuthInfo: "me"}
	config.CurrentContext = "mine"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// load calls Load for a file and fails the test on an error.
func load(t *testing.T, path string) *rest.Config {
	t.Helper()
	config, err := client.Load(client.Flags{Kubeconfig: path})
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func TestKubeconfigCertificatesBelongToUser(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	server := startTLSPlane(t, ca.server(time.Hour))
	admin, adminKey := ca.user("root", "system:masters", time.Hour)
	jane, janeKey := ca.user("jane", "people", time.Hour)

	data := kubeconfigFor(t, clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca.pem()},
		clientcmdapi.AuthInfo{ClientCertificateData: admin, ClientKeyData: adminKey})
	if _, err := kubernetes.NewForConfigOrDie(load(t, data)).CoreV1().Namespaces().List(t.Context(),
		metav1.ListOptions{}); err != nil {
		t.Errorf("as administrator, with certificates as data: got %v", err)
	}
	files := kubeconfigFor(t, clientcmdapi.Cluster{Server: server, CertificateAuthority: write(t, "ca.crt", ca.pem())},
		clientcmdapi.AuthInfo{ClientCertificate: write(t, "jane.crt", jane), ClientKey: write(t, "jane.key", janeKey)})
	_, err := kubernetes.NewForConfigOrDie(load(t, files)).CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `"jane"`) {
		t.Errorf("as jane, with certificates in files: got %v, want Forbidden for jane", err)
	}
}

// asks returns the URL of a server that accepts only requests with the given header.
func asks(t *testing.T, ca *authority, header string) string {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != header {
			answer(w, 401,
				`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Unauthorized","code":401,"message":"who is `+got+`?"}`)
			return
		}
		answer(w, 200, `{"major":"1","minor":"37","gitVersion":"v1.37.2"}`)
	}))
	server.TLS = ca.server(time.Hour)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

func TestAllCredentialsAreSent(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		header string
		user   clientcmdapi.AuthInfo
	}{
		"token":     {"Bearer secret", clientcmdapi.AuthInfo{Token: "secret"}},
		"tokenFile": {"Bearer in-a-file", clientcmdapi.AuthInfo{TokenFile: write(t, "token", []byte("in-a-file\n"))}},
		"password":  {"Basic amFuZTpzZWNyZXQ=", clientcmdapi.AuthInfo{Username: "jane", Password: "secret"}},
		"exec": {"Bearer from-a-plugin", clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{
			Command: self, APIVersion: "client.authentication.k8s.io/v1",
			InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
			Env:             []clientcmdapi.ExecEnvVar{{Name: pluginVariable, Value: "from-a-plugin"}}}}},
		"nothing": {"", clientcmdapi.AuthInfo{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := clientcmdapi.Cluster{Server: asks(t, ca, test.header), CertificateAuthorityData: ca.pem()}
			c, err := client.New(load(t, kubeconfigFor(t, cluster, test.user)))
			if err != nil {
				t.Fatal(err)
			}
			if version, err := c.Ping(t.Context()); err != nil || version != "v1.37.2" {
				t.Errorf("got %q, %v", version, err)
			}
			cluster.Server = asks(t, ca, "Bearer other")
			if c, err = client.New(load(t, kubeconfigFor(t, cluster, test.user))); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Ping(t.Context()); !apierrors.IsUnauthorized(err) {
				t.Errorf("got %v for another token, want Unauthorized", err)
			}
		})
	}
}

const twoContexts = `
apiVersion: v1
kind: Config
clusters:
- {name: a, cluster: {server: "http://127.0.0.1:1"}}
- {name: b, cluster: {server: "http://127.0.0.1:2"}}
users: [{name: u, user: {}}]
contexts:
- {name: one, context: {cluster: a, user: u}}
- {name: two, context: {cluster: b, user: u, namespace: mine}}
current-context: one
`

func TestFlagsSelectContextAndServer(t *testing.T) {
	t.Parallel()
	path := write(t, "kubeconfig", []byte(twoContexts))
	for _, test := range []struct {
		args            []string
		host, namespace string
	}{
		{[]string{"--kubeconfig", path}, "http://127.0.0.1:1", "default"},
		{[]string{"--kubeconfig", path, "--context", "two"}, "http://127.0.0.1:2", "mine"},
		{[]string{"--kubeconfig", path, "--master", "http://127.0.0.1:3"}, "http://127.0.0.1:3", "default"},
	} {
		var flags client.Flags
		set := flag.NewFlagSet("test", flag.ContinueOnError)
		flags.Bind(set)
		if err := set.Parse(test.args); err != nil {
			t.Fatal(err)
		}
		config, err := client.Load(flags)
		if err != nil || config.Host != test.host || config.QPS != -1 {
			t.Errorf("%q: got %v, %v", test.args, config, err)
		}
		if namespace, err := flags.Namespace(); err != nil || namespace != test.namespace {
			t.Errorf("%q: got namespace %q, %v", test.args, namespace, err)
		}
	}
}

// The test is not parallel because it sets environment variables.
func TestKubeconfigVariableFilesAreMerged(t *testing.T) {
	cluster := write(t, "cluster",
		[]byte("clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1', insecure-skip-tls-verify: true}}]"))
	user := write(t, "user",
		[]byte("users: [{name: u, user: {token: secret}}]\nclusters: [{name: c, cluster: {server: 'http://never'}}]"))
	context := write(t, "context", []byte("contexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x"))
	missing := filepath.Join(t.TempDir(), "none")
	t.Setenv("KUBECONFIG", strings.Join([]string{missing, cluster, user, context}, string(os.PathListSeparator)))
	config, err := client.Load(client.Flags{})
	if err != nil || config.Host != "https://127.0.0.1:1" || config.BearerToken != "secret" {
		t.Errorf("got %v, %v", config, err)
	}

	t.Setenv("KUBECONFIG", missing)
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, err := client.Load(client.Flags{Context: "x"}); err == nil ||
		err.Error() != `--context: nothing has a context "x": there is no kubeconfig at `+missing+
			": give --kubeconfig FILE, or set KUBECONFIG" {
		t.Errorf("an unknown context: got %v", err)
	}
	_, err = client.Load(client.Flags{})
	for _, want := range []string{missing, "this is no pod", "--kubeconfig", "--master"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("without any file: got %v, want %q in it", err, want)
		}
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
	if _, err := client.Load(client.Flags{}); err == nil || !strings.Contains(err.Error(), "no token at") {
		t.Errorf("in a pod without a token: got %v", err)
	}
	if config, err := client.Load(client.Flags{Master: "http://127.0.0.1:4"}); err != nil ||
		config.Host != "http://127.0.0.1:4" {
		t.Errorf("with only --master: got %v, %v", config, err)
	}
}

func TestWrongServersAreReported(t *testing.T) {
	t.Parallel()
	ca, other := newAuthority(t), newAuthority(t)
	quiet := log.New(io.Discard, "", 0)
	cert, key := ca.user("jane", "people", time.Hour)
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write([]byte("<html>Log in</html>"))
	})
	plain := httptest.NewServer(page)
	secure := httptest.NewUnstartedServer(page)
	secure.TLS, secure.Config.ErrorLog = ca.server(time.Hour), quiet
	secure.StartTLS()
	expired := httptest.NewUnstartedServer(page)
	expired.TLS, expired.Config.ErrorLog = ca.server(-time.Hour), quiet
	expired.StartTLS()
	closed := httptest.NewServer(page)
	closed.Close()
	json := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer(w, 200, `{"hello":"world"}`)
	}))
	for _, s := range []*httptest.Server{plain, secure, expired, json} {
		t.Cleanup(s.Close)
	}
	for name, test := range map[string]struct {
		server string
		ca     *authority
		want   string
	}{
		"plain HTTP":             {strings.Replace(plain.URL, "http:", "https:", 1), ca, "it does not speak TLS"},
		"TLS":                    {strings.Replace(secure.URL, "https:", "http:", 1), ca, "it speaks TLS"},
		"another authority":      {secure.URL, other, "by an authority that is not trusted"},
		"another name":           {strings.Replace(secure.URL, "127.0.0.1", "localhost", 1), ca, "for another name"},
		"an expired certificate": {expired.URL, ca, "its certificate has expired"},
		"nobody":                 {closed.URL, ca, "nothing listens there"},
		"a login page":           {secure.URL, ca, "it is not a Kubernetes API server"},
		"a web server":           {plain.URL, ca, "it is not a Kubernetes API server"},
		"another API":            {json.URL, ca, "it is not a Kubernetes API server"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := kubeconfigFor(t, clientcmdapi.Cluster{Server: test.server, CertificateAuthorityData: test.ca.pem()},
				clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key})
			config := load(t, path)
			c, err := client.New(config)
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Ping(t.Context())
			if known := new(client.ServerError); !errors.As(err, &known) || !strings.Contains(err.Error(), test.want) ||
				strings.Count(err.Error(), test.want) != 1 || !strings.HasPrefix(known.Error(), test.server) {
				t.Errorf("our client: got %v; want %q once, and %s", err, test.want, test.server)
			}
			if name == "another API" {
				return // client-go does not look at what it calls its version
			}
			_, err = kubernetes.NewForConfigOrDie(config).CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("client-go: got %v, want %q", err, test.want)
			}
		})
	}
}

func TestExpiredClientCertificateIsReported(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	server := startTLSPlane(t, ca.server(time.Hour))
	cert, key := ca.user("jane", "people", -time.Minute)
	path := kubeconfigFor(t, clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca.pem()},
		clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key})
	_, err := client.Load(client.Flags{Kubeconfig: path})
	configError := new(client.ConfigError)
	if !errors.As(err, &configError) || configError.Field != "users[me].user.client-certificate-data" ||
		!strings.Contains(err.Error(), "jane expired on") {
		t.Errorf("before the first request: got %v", err)
	}
	// As after a program has run for longer than its certificate is good for.
	c, err := client.New(&rest.Config{Host: server,
		TLSClientConfig: rest.TLSClientConfig{CAData: ca.pem(), CertData: cert, KeyData: key}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Of[*corev1.ConfigMap](c, configmaps).Get(context.Background(), "default", "a")
	if !apierrors.IsUnauthorized(err) || !strings.Contains(err.Error(), "jane expired on") {
		t.Errorf("after the server rejected the certificate: got %v", err)
	}
}

func TestUnknownContextNamesAreReported(t *testing.T) {
	t.Parallel()
	c, err := client.New(&rest.Config{Host: "http://tpyo", Transport: lost{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "the host name cannot be resolved") {
		t.Errorf("got %v", err)
	}
}

// lost is a transport that cannot resolve any host.
type lost struct{}

func (lost) RoundTrip(q *http.Request) (*http.Response, error) {
	return nil, &net.DNSError{Err: "no such host", Name: q.URL.Host, IsNotFound: true}
}

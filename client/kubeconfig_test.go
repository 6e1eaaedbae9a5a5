package client_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/bowline-dev/bowline/client"
)

// mistake is an expected error in a kubeconfig: its line, its field and its message.
type mistake struct {
	text  string
	line  int
	field string
	want  string
}

var mistakes = map[string]mistake{
	"broken off in the middle": {`clusters:
- name: c
  cluster: {server: "https://127.0`, 3, "", "not YAML (is it half written?)"},
	"no kubeconfig": {"kind: Pod\napiVersion: v1", 1, "kind", "no kubeconfig"},
	"only text":     {"hello", 1, "", "want fields with values, got a string"},
	"a list that is none": {`
clusters:
  c: {server: "https://127.0.0.1:1"}`, 3, "clusters", "want a list, got fields with values"},
	"a number for a token": {`
users:
- name: u
  user:
    token: 12345`, 5, "users[u].user.token", "want a string, got a number: put it in quotes"},
	"a word for yes or no": {`
clusters:
- name: c
  cluster:
    insecure-skip-tls-verify: "true"`, 5, "clusters[c].cluster.insecure-skip-tls-verify", "want true or false, got a string"},
	"bad base64": {`
users:
- name: u
  user:
    client-certificate-data: LS0tLS1CR`, 5, "users[u].user.client-certificate-data", "not base64"},
	"a list for the plugin's name": {`
users:
- name: u
  user:
    exec:
      command: [aws]`, 6, "users[u].user.exec.command", "want a string, got a list"},
	"no such context": {`
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: z`, 3, "current-context", `there is no context "z" (there are x)`},
	"a word that YAML has another meaning for": {`
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: y`, 3, "current-context", `want a string, got true or false: put it in quotes`},
	"no context set": {`
contexts: [{name: x, context: {cluster: c, user: u}}]`, 0, "current-context", "none is set (there are x): give --context NAME"},
	"broken off before the users": {`
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
contexts:
- context:
    cluster: c
    user: u
  name: x
current-context: x`, 6, "contexts[x].context.user", `there is no user "u" (there is none at all: is the file half written?)`},
	"no such cluster": {`
contexts:
- name: x
  context:
    cluster: d
    user: u
current-context: x
clusters: [{name: c, cluster: {}}]
users: [{name: u, user: {}}]`, 5, "contexts[x].context.cluster", `there is no cluster "d" (there are c)`},
	"a context without a user": {`
contexts:
- name: x
  context:
    cluster: c
current-context: x
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {}}]`, 5, "contexts[x].context.user", "the context names no user (there are u)"},
	"no server": {complete("certificate-authority-data: ''", "{}"), 3, "clusters[c].cluster.server",
		"no server is named"},
	"no URL": {complete(`server: "https://[::1"`, "{}"), 4, "clusters[c].cluster.server",
		"no URL of a server"},
	"no such CA": {complete("certificate-authority: /none/ca.crt", "{}"), 4,
		"clusters[c].cluster.certificate-authority", "no such file"},
	"no CA in it": {complete("certificate-authority-data: aGVsbG8=", "{}"), 4,
		"clusters[c].cluster.certificate-authority-data", "no certificate in PEM"},
	"no such cert": {complete(server, "{client-certificate: none.crt, client-key: none.key}"), 6,
		"users[u].user.client-certificate", "none.crt: no such file"},
	"a cert alone": {complete(server, "{client-certificate-data: aGVsbG8=}"), 6,
		"users[u].user.client-key", "no key beside it"},
	"a key alone": {complete(server, "{client-key-data: aGVsbG8=}"), 6,
		"users[u].user.client-certificate", "no certificate beside it"},
	"no cert in it": {complete(server, "{client-certificate-data: aGVsbG8=, client-key-data: aGVsbG8=}"),
		6, "users[u].user.client-certificate-data", "no certificate in PEM"},
	"no such token": {complete(server, "{tokenFile: none}"), 6, "users[u].user.tokenFile", "no such file"},
	"no such plugin": {complete(server, "{exec: {command: no-such-plugin, installHint: Get it there.}}"), 6,
		"users[u].user.exec.command", "Get it there."},
	"a token of two lines": {complete(server, `{token: "a\nb"}`), 6, "users[u].user.token", "a line break"},
	"a user of nothing": {complete(server, ""), 6, "users[u].user",
		"it is empty (is the file half written?)"},
	"two credentials": {complete(server, "{token: a, username: b, password: c}"), 6, "users[u].user",
		"more than one authentication method"},
	"no kubeconfig, further down": {"clusters: []\nusers: []\napiVersion: v1\nkind: Pod", 4, "kind", "no kubeconfig"},
	"of another version":          {"kind: Config\napiVersion: v2", 2, "apiVersion", "no kubeconfig"},
	"no proxy": {complete(server+"\n    proxy-url: ftp://jane:secret-12345@[", "{}"), 5,
		"clusters[c].cluster.proxy-url", "no URL of a proxy"},
	"a plugin of no version": {complete(server, "{exec: {command: sh, interactiveMode: Never}}"), 6,
		"users[u].user.exec.apiVersion", "it is missing"},
	"a plugin that asks how": {complete(server, "{exec: {command: sh, apiVersion: client.authentication.k8s.io/v1}}"),
		6,
		"users[u].user.exec.interactiveMode", "want Never, IfAvailable or Always"},
	"two of a name": {`
users:
- {name: u, user: {token: secret-12345}}
- {name: v, user: {}}
- {name: u, user: {password: "12345"}}`, 5, "users", `the name "u" comes twice, here and in line 3`},
	"two without a name": {`
users:
- user: {token: secret-12345}
- user: {token: secret-12345}`, 4, "users", `the name "" comes twice`},
	"a token that begins with a star": {`
users:
- name: u
  user:
    token: *secret-12345`, 5, "", "put it in quotes"},
	"a block that does not go on": {`
# line 2
users:
- name: u
  user:
    username: a
   password: "12345"
`, 4, "", "here, or in what begins here, it does not go on"},
	"brackets that stay open": {`
users:
- name: u

  user: {
    username: a
contexts: []
`, 5, "", "did not find expected ',' or '}'"},
}

func TestKubeconfigErrorsNameFileLineAndField(t *testing.T) {
	t.Parallel()
	for name, test := range mistakes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := write(t, "kubeconfig", []byte(test.text))
			_, err := client.Load(client.Flags{Kubeconfig: path})
			configError := new(client.ConfigError)
			if !errors.As(err, &configError) || !strings.Contains(configError.Error(), test.want) {
				t.Fatalf("got %v, want %q", err, test.want)
			}
			if configError.File != path || configError.Line != test.line || configError.Field != test.field {
				t.Errorf("%s\ngot line %d, field %q; want %d, %q", configError, configError.Line, configError.Field,
					test.line, test.field)
			}
			if strings.Contains(err.Error(), "12345") {
				t.Error("the error contains a secret")
			}
		})
	}
}

const server = `server: "https://127.0.0.1:1"`

// complete returns a kubeconfig with the fields of its cluster in line 4 and those of its user in line 6.
func complete(cluster, user string) string {
	if !strings.HasPrefix(cluster, "server") {
		cluster += "\n    " + server
	}
	if strings.HasPrefix(cluster, "certificate-authority-data: ''") {
		cluster = "{}"
		return fmt.Sprintf("clusters:\n- name: c\n  cluster: %s\nusers: [{name: u, user: %s}]\ncontexts: [{name: "+
			"x, context: {cluster: c, user: u}}]\ncurrent-context: x", cluster, user)
	}
	return fmt.Sprintf("clusters:\n- name: c\n  cluster:\n    %s\nusers:\n- user: %s\n  name: u\ncontexts: [{name: "+
		"x, context: {cluster: c, user: u}}]\ncurrent-context: x",
		cluster, user)
}

func TestMismatchedKeyIsReported(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	cert, _ := ca.user("jane", "people", time.Hour)
	_, key := ca.user("jane", "people", time.Hour)
	folder := t.TempDir()
	for name, data := range map[string][]byte{"jane.crt": cert, "jane.key": key} {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(folder, "kubeconfig") // which names the files beside it
	text := complete(server, "\n    client-certificate: jane.crt\n    client-key: jane.key")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := client.Load(client.Flags{Kubeconfig: path})
	if err == nil || !strings.HasPrefix(err.Error(),
		path+":8: users[u].user.client-key: it is not the key of the certificate") {
		t.Errorf("got %v", err)
	}
}

// The error does not contain a key that only client-go's parser regards as a duplicate.
func TestKubeconfigErrorsShowNoSecrets(t *testing.T) {
	t.Parallel()
	path := write(t, "kubeconfig", []byte("x: &x {name: u, user: {token: secret-12345}}\nusers: [{<<: *x}, {<<: *x}]"))
	_, err := client.Load(client.Flags{Kubeconfig: path})
	_, errOfNamespace := client.Flags{Kubeconfig: path}.Namespace()
	for _, err := range []error{err, errOfNamespace} {
		if err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "12345") {
			t.Errorf("got %v", err)
		}
	}
}

func TestAllKubeconfigErrorsAreReported(t *testing.T) {
	t.Parallel()
	path := write(t, "kubeconfig", []byte(complete("certificate-authority: none", "{tokenFile: none}")))
	_, err := client.Load(client.Flags{Kubeconfig: path})
	for _, want := range []string{path + ":4: clusters[c].cluster.certificate-authority: ",
		path + ":7: users[u].user.tokenFile: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}

func TestUnreadableKubeconfigs(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for path, want := range map[string]string{
		filepath.Join(folder, "none"): "no such file",
		folder:                        "is a directory",
	} {
		if _, err := client.Load(client.Flags{Kubeconfig: path}); err == nil ||
			!strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
	path := write(t, "kubeconfig", []byte(twoContexts))
	if _, err := client.Load(client.Flags{Kubeconfig: path, Context: "three"}); err == nil ||
		!strings.Contains(err.Error(), `--context: there is no context "three" in `+path+" (there are one, two)") {
		t.Errorf("another context: got %v", err)
	}
	empty := write(t, "kubeconfig", nil)
	if _, err := client.Load(client.Flags{Kubeconfig: empty}); err == nil ||
		!strings.Contains(err.Error(), empty+" names no cluster") {
		t.Errorf("an empty file: got %v", err)
	}
}

// As with kubectl, a file without users is for a server without authentication.
func TestKubeconfigWithoutUsersIsAnonymous(t *testing.T) {
	t.Parallel()
	path := write(t, "kubeconfig", []byte(`{clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}],
contexts: [{name: x, context: {cluster: c}}], current-context: x}`))
	config, err := client.Load(client.Flags{Kubeconfig: path})
	if err != nil || config.Host != "http://127.0.0.1:1" || config.BearerToken != "" || config.CertFile != "" {
		t.Errorf("got %v, %v", config, err)
	}
}

// For every truncated kubeconfig, Load returns an error that names the file.
func TestTruncatedKubeconfigs(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	cert, key := ca.user("jane", "people", time.Hour)
	whole, err := os.ReadFile(kubeconfigFor(t,
		clientcmdapi.Cluster{Server: "https://127.0.0.1:1", CertificateAuthorityData: ca.pem()},
		clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	for length := 0; length < len(whole); length++ {
		if before, _, _ := strings.Cut(string(whole[length:]), "\n"); len(before) > 20 {
			length += 15 // of a long line, a part will do
		}
		if err := os.WriteFile(path, whole[:length], 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := client.Load(client.Flags{Kubeconfig: path})
		if err == nil && length < len(whole)-2 {
			t.Errorf("%d of %d bytes: got no error for\n%s", length, len(whole), whole[:length])
		}
		if err != nil && !strings.Contains(err.Error(), path) {
			t.Errorf("%d of %d bytes: got %v, want the name of the file", length, len(whole), err)
		}
	}
}

// For any file, Load returns a config or an error, and does not execute a plugin. It accepts no file that the library
// rejects.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{twoContexts, complete(server, "{tokenFile: none}"), "a: &a [*a]", "users: &a\n- *a",
		"clusters: [{name: c, cluster: &c {<<: *c}}]",
		"contexts: {? [] : []}", "current-context: [x]", "users: [{name: u, user: {exec: {env: [null]}}}]", "---\n---",
		"\x00"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		path := write(t, "kubeconfig", text)
		config, err := client.Load(client.Flags{Kubeconfig: path})
		if (config == nil) == (err == nil) {
			t.Errorf("got config %v and error %v, want exactly one", config, err)
		}
		if _, libraryErr := clientcmd.LoadFromFile(path); err == nil && libraryErr != nil {
			t.Errorf("%q is accepted, but the library rejects it: %v", text, libraryErr)
		}
	})
}

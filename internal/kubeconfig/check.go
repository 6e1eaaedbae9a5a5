package kubeconfig

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// check finds mistakes in the selected context and in the cluster and user that it names: mistakes that
// client-go or the server would report less clearly, or only at the first request.
type check struct {
	files  []*parsedFile
	places []string             // paths that were searched for files
	config *clientcmdapi.Config // the merged files
	flags  Flags
	errs   []error
}

// all returns all mistakes found, joined, or nil.
func (c *check) all() error {
	name := c.contextName()
	if name == "" || len(c.errs) > 0 {
		return errors.Join(c.errs...)
	}
	context := c.config.Contexts[name]
	at := entry{c.origin(context.LocationOfOrigin), "contexts", name, "context"}
	if cluster, ok := c.config.Clusters[context.Cluster]; ok {
		c.cluster(entry{c.origin(cluster.LocationOfOrigin), "clusters", context.Cluster, "cluster"}, cluster)
	} else {
		c.missing(at, "cluster", "cluster", context.Cluster, slices.Sorted(maps.Keys(c.config.Clusters)))
	}
	if user, ok := c.config.AuthInfos[context.AuthInfo]; ok {
		c.user(entry{c.origin(user.LocationOfOrigin), "users", context.AuthInfo, "user"}, user)
	} else if context.AuthInfo != "" || len(c.config.AuthInfos) > 0 { // without any users, none is meant
		c.missing(at, "user", "user", context.AuthInfo, slices.Sorted(maps.Keys(c.config.AuthInfos)))
	}
	return errors.Join(c.errs...)
}

// contextName returns the context to use, or "" if there are no contexts and no clusters, or --master
// suffices.
func (c *check) contextName() string {
	names := slices.Sorted(maps.Keys(c.config.Contexts))
	if c.flags.Context != "" {
		_, ok := c.config.Contexts[c.flags.Context]
		switch {
		case len(c.files) == 0:
			c.errs = append(c.errs,
				fmt.Errorf("--context: nothing has a context %q: %s: give --kubeconfig FILE, or set KUBECONFIG",
					c.flags.Context, noneAt(c.places)))
		case !ok:
			c.errs = append(c.errs, fmt.Errorf("--context: there is no context %q in %s%s", c.flags.Context, c.paths(),
				thereAre(names)))
		}
		return c.flags.Context
	}
	current := c.config.CurrentContext
	if _, ok := c.config.Contexts[current]; ok && current != "" {
		return current
	}
	for _, file := range c.files {
		if node := value(file.root, "current-context"); node != nil && node.Value == current && current != "" {
			c.errs = append(c.errs, file.errorf(node, "current-context", "there is no context %q%s", current,
				thereAre(names)))
			return current
		}
	}
	if c.flags.Master == "" && (len(names) > 0 || len(c.config.Clusters) > 0) {
		err := fmt.Errorf("none is set%s: give --context NAME", thereAre(names))
		c.errs = append(c.errs, &Error{File: c.paths(), Field: "current-context", Err: err})
	}
	return ""
}

func (c *check) paths() string { return paths(c.files) }

func paths(files []*parsedFile) string {
	var paths []string
	for _, file := range files {
		paths = append(paths, file.path)
	}
	return strings.Join(paths, ", ")
}

func thereAre(names []string) string {
	if len(names) == 0 {
		return " (there is none at all: is the file half written?)"
	}
	return " (there are " + strings.Join(names, ", ") + ")"
}

// missing records that a context names a cluster or user that does not exist.
func (c *check) missing(at entry, field, what, name string, names []string) {
	if name == "" {
		c.errs = append(c.errs, at.errorf(field, "the context names no %s%s", what, thereAre(names)))
		return
	}
	c.errs = append(c.errs, at.errorf(field, "there is no %s %q%s", what, name, thereAre(names)))
}

// origin returns the file that an entry of the merged configuration came from.
func (c *check) origin(path string) *parsedFile {
	for _, file := range c.files {
		if file.path == path {
			return file
		}
	}
	return &parsedFile{path: path}
}

// selected adds the position of the selected context to an error of client-go.
func (c *check) selected(err error) error {
	name := c.flags.Context
	if name == "" {
		name = c.config.CurrentContext
	}
	context, ok := c.config.Contexts[name]
	if !ok {
		return fmt.Errorf("%s: %w", c.paths(), err)
	}
	return entry{c.origin(context.LocationOfOrigin), "contexts", name, "context"}.errorf("", "%w", err)
}

// entry is the position of a context, cluster or user.
type entry struct {
	file             *parsedFile
	list, name, part string
}

// errorf returns an error at the line of a field of the entry, or of the closest enclosing node that exists.
func (e entry) errorf(field, format string, args ...any) error {
	var at *yaml.Node
	if item := e.file.item(e.list, e.name); item != nil {
		at = item
		for part := range strings.SplitSeq(strings.TrimSuffix(e.part+"."+field, "."), ".") {
			if item = value(item, part); item == nil {
				break
			}
			at = item
		}
	}
	where := strings.TrimSuffix(fmt.Sprintf("%s[%s].%s.%s", e.list, e.name, e.part, field), ".")
	return e.file.errorf(at, where, format, args...)
}

func (c *check) fail(e entry, field, format string, args ...any) {
	c.errs = append(c.errs, e.errorf(field, format, args...))
}

func (c *check) cluster(e entry, cluster *clientcmdapi.Cluster) {
	if cluster.Server == "" && c.flags.Master == "" {
		c.fail(e, "server", "no server is named: give its URL, as in https://127.0.0.1:6443")
	} else if _, _, err := rest.DefaultServerURL(cluster.Server, "", schema.GroupVersion{}, true); err != nil &&
		c.flags.Master == "" {
		c.fail(e, "server", "it is no URL of a server: %w", err)
	}
	if cluster.ProxyURL != "" && !isProxy(cluster.ProxyURL) { // the URL is not printed: it may contain a password
		c.fail(e, "proxy-url", "it is no URL of a proxy, such as http://10.0.0.1:3128, or with https or socks5")
	}
	field, data, ok := c.read(e, "certificate-authority", cluster.CertificateAuthority,
		cluster.CertificateAuthorityData)
	if ok && len(data) > 0 {
		if cluster.InsecureSkipTLSVerify {
			c.fail(e, "insecure-skip-tls-verify", "it contradicts %s, which says whom to trust: leave one of them out",
				field)
		}
		if !x509.NewCertPool().AppendCertsFromPEM(data) {
			c.fail(e, field, "it holds no certificate in PEM (-----BEGIN CERTIFICATE-----)")
		}
	}
}

// read returns the content of a file or data field and the name of the field used. As in client-go, data
// takes precedence.
func (c *check) read(e entry, field, path string, data []byte) (string, []byte, bool) {
	if len(data) > 0 || path == "" {
		return field + "-data", data, true
	}
	data, err := readBounded(path)
	if err != nil {
		c.fail(e, field, "%w", err)
	}
	return field, data, err == nil
}

func (c *check) user(e entry, user *clientcmdapi.AuthInfo) {
	if field, found := e.emptyField(user); found {
		c.fail(e, field, "it is empty (is the file half written?): a user without credentials is written user: {}")
	}
	c.certificate(e, user)
	if strings.ContainsFunc(user.Token, unicode.IsControl) {
		c.fail(e, "token",
			"it has a line break or another character that cannot be sent: is it written with | where it should not be?")
	}
	if user.TokenFile != "" && user.Token == "" {
		if token, err := readBounded(user.TokenFile); err != nil {
			c.fail(e, "tokenFile", "%w", err)
		} else if strings.TrimSpace(string(token)) == "" {
			c.fail(e, "tokenFile", "%s is empty", user.TokenFile)
		}
	}
	if user.Token != "" && user.Username+user.Password != "" {
		c.fail(e, "",
			"it has a token, and a username or password: more than one authentication method, of which one is to be left out")
	}
	if user.Exec != nil {
		c.plugin(e, user.Exec)
	}
}

// plugin checks the exec credential plugin.
func (c *check) plugin(e entry, plugin *clientcmdapi.ExecConfig) {
	if plugin.Command == "" {
		c.fail(e, "exec.command", "no program is named")
	} else if _, err := exec.LookPath(plugin.Command); err != nil {
		c.fail(e, "exec.command", "%w%s", err, hint(plugin.InstallHint))
	}
	if plugin.APIVersion == "" {
		c.fail(e, "exec.apiVersion", "it is missing: client.authentication.k8s.io/v1, or what else the program speaks")
	}
	switch plugin.InteractiveMode {
	case clientcmdapi.NeverExecInteractiveMode, clientcmdapi.IfAvailableExecInteractiveMode,
		clientcmdapi.AlwaysExecInteractiveMode:
	default:
		c.fail(e, "exec.interactiveMode", "want Never, IfAvailable or Always, got %q", plugin.InteractiveMode)
	}
}

// emptyField returns the field that has no value, "" for the user itself, and whether there is one: a user is
// without credentials only if that is written out.
func (e entry) emptyField(user *clientcmdapi.AuthInfo) (field string, found bool) {
	texts := user.ClientCertificate + user.ClientKey + user.Token + user.TokenFile + user.Username + user.Password
	if texts != "" || len(user.ClientCertificateData)+len(user.ClientKeyData) > 0 || user.AuthProvider != nil ||
		user.Exec != nil {
		return "", false
	}
	node := value(e.file.item(e.list, e.name), e.part)
	if node == nil || node.ShortTag() == "!!null" {
		return "", true
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i+1].ShortTag() == "!!null" {
			return node.Content[i].Value, true
		}
	}
	return "", false
}

func hint(text string) string {
	if text == "" {
		return ""
	}
	return ". " + strings.TrimSpace(text)
}

// certificate checks that the client certificate and key belong together and that the certificate has not
// expired.
func (c *check) certificate(e entry, user *clientcmdapi.AuthInfo) {
	certField, cert, okCert := c.read(e, "client-certificate", user.ClientCertificate, user.ClientCertificateData)
	keyField, key, okKey := c.read(e, "client-key", user.ClientKey, user.ClientKeyData)
	switch {
	case !okCert || !okKey || len(cert) == 0 && len(key) == 0:
		return
	case len(cert) == 0:
		c.fail(e, "client-certificate", "%s has no certificate beside it", keyField)
		return
	case len(key) == 0:
		c.fail(e, "client-key", "%s has no key beside it", certField)
		return
	}
	leaf, err := ParseCertificate(cert)
	if err != nil {
		c.fail(e, certField, "%w", err)
		return
	}
	if _, err := tls.X509KeyPair(cert, key); err != nil {
		c.fail(e, keyField, "it is not the key of the certificate: %w", err)
	}
	if time.Now().After(leaf.NotAfter) {
		c.fail(e, certField, "%s", Expired(leaf))
	}
}

// ParseCertificate returns the certificate in the first PEM block of data.
func ParseCertificate(data []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, errors.New("it holds no certificate in PEM (-----BEGIN CERTIFICATE-----)")
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("its certificate cannot be read: %w", err)
	}
	return leaf, nil
}

// Expired describes an expired client certificate.
func Expired(leaf *x509.Certificate) string {
	return fmt.Sprintf("the client certificate of %s expired on %s: ask who runs the server for a new one",
		leaf.Subject.CommonName, leaf.NotAfter.UTC().Format(time.RFC3339))
}

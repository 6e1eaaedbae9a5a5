// Package kubeconfig finds a server and the credentials for it: in flags, in kubeconfig files, or in the service
// account of a pod. It reports mistakes with file, line and field, most of which client-go reports without, or only
// when the first request fails.
package kubeconfig

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Flags select a server, as those of package client do.
type Flags struct{ Kubeconfig, Master, Context string }

// Load returns the server and the credentials that f selects. It sends no request. The error joins one *Error per
// mistake in the kubeconfig. The config has no client-side rate limit. The caller owns it.
func Load(f Flags) (*rest.Config, error) {
	loader, rules := f.loader()
	files, err := readFiles(rules.GetLoadingPrecedence(), f.Kubeconfig != "")
	if err != nil {
		return nil, err
	}
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, unreadable(files)
	}
	checked := check{files: files, places: rules.GetLoadingPrecedence(), config: &raw, flags: f}
	if err := checked.all(); err != nil {
		return nil, err
	}
	config, err := loader.ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err):
		return nil, f.nowhere(files, rules.GetLoadingPrecedence())
	case err != nil:
		return nil, checked.selected(err)
	}
	if err := checkPod(config); err != nil {
		return nil, err
	}
	config.QPS = -1
	return config, nil
}

// Namespace returns the namespace of the selected context, of the pod that the program runs in, or "default".
func (f Flags) Namespace() (string, error) {
	loader, rules := f.loader()
	files, err := readFiles(rules.GetLoadingPrecedence(), f.Kubeconfig != "")
	if err != nil {
		return "", err
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return "", unreadable(files)
	}
	return namespace, nil
}

// unreadable returns the error for files that client-go rejects although readFiles accepted them. It
// omits client-go's own error, which may quote secrets.
func unreadable(files []*parsedFile) error {
	return fmt.Errorf("%s: client-go cannot read that; kubectl config view says why, and may show tokens and passwords",
		paths(files))
}

func (f Flags) loader() (clientcmd.ClientConfig, *clientcmd.ClientConfigLoadingRules) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath, rules.WarnIfAllMissing = f.Kubeconfig, false // Load reports missing files itself
	overrides := &clientcmd.ConfigOverrides{CurrentContext: f.Context}
	overrides.ClusterInfo.Server = f.Master
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides), rules
}

// podFolder is where a pod's service account is mounted.
const podFolder = "/var/run/secrets/kubernetes.io/serviceaccount/"

// nowhere returns the error for no server found, with the places that were searched.
func (f Flags) nowhere(files []*parsedFile, places []string) error {
	what := noneAt(places)
	if len(files) > 0 {
		what = files[0].path + " names no cluster"
	}
	pod := "this is no pod"
	if os.Getenv("KUBERNETES_SERVICE_HOST") != "" {
		pod = "a pod's service account has no token at " + podFolder + "token (automountServiceAccountToken: false?)"
	}
	return fmt.Errorf("which server? %s, and %s: give --kubeconfig FILE or --master URL, or set KUBECONFIG", what, pod)
}

// noneAt states that there is no file at any of the places.
func noneAt(places []string) string {
	places = slices.DeleteFunc(slices.Clone(places), func(p string) bool { return p == "" })
	return "there is no kubeconfig at " + strings.Join(places, ", ")
}

// checkPod returns an error if a pod's service account lacks the server's CA certificate. client-go would
// fall back to the system's authorities.
func checkPod(config *rest.Config) error {
	if config.BearerTokenFile != podFolder+"token" || config.CAFile != "" {
		return nil
	}
	if config.CAData != nil || config.Insecure || !strings.HasPrefix(config.Host, "https:") {
		return nil
	}
	return &Error{File: podFolder + "ca.crt", Err: fmt.Errorf("it holds no certificate, "+
		"and without it nobody can tell whether %s is the server of this pod: mount it with the token", config.Host)}
}

// isProxy reports whether client-go accepts text as the URL of a proxy.
func isProxy(text string) bool {
	proxy, err := url.Parse(text)
	return err == nil && slices.Contains([]string{"http", "https", "socks5"}, proxy.Scheme)
}

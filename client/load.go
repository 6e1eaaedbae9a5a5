package client

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Flags select a server. The zero value finds it as kubectl does: in the merged files of $KUBECONFIG, where
// the first definition of an entry wins; otherwise in ~/.kube/config; otherwise, within a pod, the pod's API
// server and service account.
type Flags struct {
	Kubeconfig string // the only file to read
	Master     string // overrides the server URL of the kubeconfig
	Context    string // overrides the current context of the kubeconfig
}

// Bind defines the flags --kubeconfig, --master and --context in set.
func (f *Flags) Bind(set *flag.FlagSet) {
	set.StringVar(&f.Kubeconfig, "kubeconfig", f.Kubeconfig,
		"kubeconfig `file` (default: $KUBECONFIG, then ~/.kube/config, then that of the pod it runs in)")
	set.StringVar(&f.Master, "master", f.Master, "`URL` of the server, instead of the one in the kubeconfig")
	set.StringVar(&f.Context, "context", f.Context,
		"`name` of the context in the kubeconfig, instead of its current one")
}

// Load returns the server and the credentials that f selects: certificate, token, password or exec plugin. It
// sends no request; Client.Ping does. The error joins one *ConfigError per mistake in the kubeconfig, with
// file, line and field. The config has no client-side rate limit: servers limit overload themselves, and
// controllers back off in their work queues.
func Load(f Flags) (*rest.Config, error) {
	loader, rules := f.loader()
	files, err := readKubeconfigs(rules.GetLoadingPrecedence(), f.Kubeconfig != "")
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
	explain(config)
	return config, nil
}

// Namespace returns the namespace of the selected context, of the pod that the program runs in, or "default".
func (f Flags) Namespace() (string, error) {
	loader, rules := f.loader()
	files, err := readKubeconfigs(rules.GetLoadingPrecedence(), f.Kubeconfig != "")
	if err != nil {
		return "", err
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return "", unreadable(files)
	}
	return namespace, nil
}

// unreadable returns the error for files that client-go rejects although readKubeconfigs accepted them. It
// omits client-go's own error, which may quote secrets.
func unreadable(files []*kubeconfig) error {
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
func (f Flags) nowhere(files []*kubeconfig, places []string) error {
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
	return &ConfigError{File: podFolder + "ca.crt", Err: fmt.Errorf("it holds no certificate, "+
		"and without it nobody can tell whether %s is the server of this pod: mount it with the token", config.Host)}
}

// isProxy reports whether client-go accepts text as the URL of a proxy.
func isProxy(text string) bool {
	proxy, err := url.Parse(text)
	return err == nil && slices.Contains([]string{"http", "https", "socks5"}, proxy.Scheme)
}

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

// Flags say which server to speak to. The zero value finds it as kubectl does: in the files of $KUBECONFIG, merged, the
// first to name a thing being right; without that in ~/.kube/config; and where there is none, from within a pod, the server
// that runs the pod, as the pod's service account.
type Flags struct {
	Kubeconfig string // a file, which alone is read
	Master     string // the server's URL, instead of the one that the kubeconfig has
	Context    string // of the kubeconfig, instead of its current one
}

// Bind makes --kubeconfig, --master and --context of a program set f.
func (f *Flags) Bind(set *flag.FlagSet) {
	set.StringVar(&f.Kubeconfig, "kubeconfig", f.Kubeconfig,
		"kubeconfig `file` (default: $KUBECONFIG, then ~/.kube/config, then that of the pod it runs in)")
	set.StringVar(&f.Master, "master", f.Master, "`URL` of the server, instead of the one in the kubeconfig")
	set.StringVar(&f.Context, "context", f.Context, "`name` of the context in the kubeconfig, instead of its current one")
}

// Load finds the server that flags mean, with the identity to use there: certificate, token, password or what a plugin
// says. It asks nothing of the server (Client.Reach does). What is wrong in a kubeconfig is a *ConfigError for each mistake, which
// names file, line and field. Requests of the config are not limited in rate: servers know how to defend themselves, and a
// controller's work queue is what holds back.
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

// Namespace is the one to use where none is asked for: the context's, or that of the pod this program runs in, or default.
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

// unreadable is that client-go cannot read files in which nothing wrong was found before. Its own words may show what is in them.
func unreadable(files []*kubeconfig) error {
	return fmt.Errorf("%s: client-go cannot read that; kubectl config view says why, and may show tokens and passwords", paths(files))
}

func (f Flags) loader() (clientcmd.ClientConfig, *clientcmd.ClientConfigLoadingRules) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath, rules.WarnIfAllMissing = f.Kubeconfig, false // Load says itself what is missing
	overrides := &clientcmd.ConfigOverrides{CurrentContext: f.Context}
	overrides.ClusterInfo.Server = f.Master
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides), rules
}

// podFolder is where a pod finds its service account.
const podFolder = "/var/run/secrets/kubernetes.io/serviceaccount/"

// nowhere says that no server was found, and where it was looked for.
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

// noneAt says that no file was found at any of the places.
func noneAt(places []string) string {
	places = slices.DeleteFunc(slices.Clone(places), func(p string) bool { return p == "" })
	return "there is no kubeconfig at " + strings.Join(places, ", ")
}

// checkPod finds a pod without the authority of its server's certificate, which client-go takes for one to trust by the
// system's authorities.
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

// isProxy says whether client-go takes a text for the URL of a proxy.
func isProxy(text string) bool {
	proxy, err := url.Parse(text)
	return err == nil && slices.Contains([]string{"http", "https", "socks5"}, proxy.Scheme)
}

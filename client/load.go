package client

import (
	"flag"

	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/kubeconfig"
)

// Flags selects a server and the credentials for it. The zero value selects as kubectl does: the current context of the
// merged files of $KUBECONFIG, where the first definition of an entry wins; otherwise of ~/.kube/config; otherwise, in
// a pod, the pod's API server and service account.
type Flags struct {
	Kubeconfig string // a kubeconfig file, the only one to read
	Master     string // overrides the server URL of the kubeconfig
	Context    string // overrides the current context of the kubeconfig
}

// Bind defines the flags --kubeconfig, --master and --context in set. Parsing them sets the fields of f.
func (f *Flags) Bind(set *flag.FlagSet) {
	set.StringVar(&f.Kubeconfig, "kubeconfig", f.Kubeconfig,
		"kubeconfig `file` (default: $KUBECONFIG, then ~/.kube/config, then that of the pod it runs in)")
	set.StringVar(&f.Master, "master", f.Master, "`URL` of the server, instead of the one in the kubeconfig")
	set.StringVar(&f.Context, "context", f.Context,
		"`name` of the context in the kubeconfig, instead of its current one")
}

// Namespace returns the namespace of the selected context, or else of the pod in which the program runs, or else
// "default". It returns an error if a kubeconfig cannot be read.
func (f Flags) Namespace() (string, error) { return kubeconfig.Flags(f).Namespace() }

// ConfigError reports a mistake in a kubeconfig, or in a file that it refers to. File is the kubeconfig file, Line its
// line (from 1; 0 if the error is about the whole file), and Field the path of the field, such as
// users[jane].user.tokenFile, which may be empty. Err is the cause and not nil; Unwrap returns it.
type ConfigError = kubeconfig.Error

// Load returns the configuration of a client for the server and the credentials that f selects: certificate, token,
// password or exec plugin. It sends no request; use Client.Ping to test the connection. The error joins one
// *ConfigError per mistake in the kubeconfig, with file, line and field. The config has no client-side rate limit:
// servers protect themselves from overload, and controllers back off in their work queues. Clients made from it report
// connection failures as *ServerError. The caller owns the config.
func Load(f Flags) (*rest.Config, error) {
	config, err := kubeconfig.Load(kubeconfig.Flags(f))
	if err != nil {
		return nil, err
	}
	explain(config)
	return config, nil
}

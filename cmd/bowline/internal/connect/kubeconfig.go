package connect

import (
	"fmt"
	"os"

	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/state"
)

// KubeconfigVariable is the environment variable that names the kubeconfig.
const KubeconfigVariable = "KUBECONFIG"

// Config returns the configuration for a running server: from the given kubeconfig, from KUBECONFIG, or from
// the server in the user's state folder. It never uses the cluster in ~/.kube/config.
func Config(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" && os.Getenv(KubeconfigVariable) == "" {
		running, err := RunningKubeconfig()
		if err != nil {
			return nil, err
		}
		kubeconfig = running
	}
	return client.Load(client.Flags{Kubeconfig: kubeconfig})
}

// RunningKubeconfig returns the path of the kubeconfig of the server that runs in the user's state folder. It
// returns an error if no server runs there.
func RunningKubeconfig() (string, error) {
	folder, err := state.Default()
	if err != nil {
		return "", err
	}
	holder, running, err := folder.Running()
	if err != nil {
		return "", err
	}
	if !running || holder.Kubeconfig == "" {
		return "",
			fmt.Errorf("no bowline server runs in %s: start one with bowline up, name its kubeconfig with --kubeconfig or "+
				"KUBECONFIG, or read a folder that no server uses with --data", folder)
	}
	return holder.Kubeconfig, nil
}

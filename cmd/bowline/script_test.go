package main

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bowline-dev/bowline/examples/network/provider/bridge"
)

// TestMain makes programs of this test binary: bowline and kubectl are the real ones, the others are what a script
// needs and a machine may lack.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"bowline":        main,
		"kubectl":        main,
		"kube-apiserver": main,
		"etcd":           main,
		"http":           httpMain,
		"kubeconfig-for": kubeconfigForMain,
		"replace-text":   replaceTextMain,
		"show-diff":      showDiffMain,
		"stubborn":       stubbornMain,
		"many":           manyMain,
		"big":            bigMain,
		"exit-code":      exitCodeMain,
		"network":        networkMain,
		"sidecar":        sidecarMain,
		"initializer":    initializerMain,
		"directory":      directoryMain,
		"collector":      collectorMain,

		"remove-namespace": removeNamespaceMain,
	})
}

// TestScripts runs testdata/script/*.txtar, each what a user types and what they see. See the README there for the
// commands that scripts have beside testscript's own.
func TestScripts(t *testing.T) {
	t.Parallel()
	if signal.Ignored(syscall.SIGHUP) { // as under nohup; what the scripts start is not to inherit that
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	testscript.Run(t, testscript.Params{
		Dir:       filepath.Join("testdata", "script"),
		Setup:     setUpScript,
		Condition: scriptCondition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"up":      cmdUp,
			"spawn":   cmdSpawn,
			"await":   cmdAwait,
			"signal":  cmdSignal,
			"down":    cmdDown,
			"kill9":   cmdKill9,
			"capture": cmdCapture,
			"like":    cmdLike,
			"appears": cmdAppears,
		},
	})
}

// setUpScript gives each script a home and a state folder of its own.
func setUpScript(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, "home")
	examples, err := filepath.Abs(filepath.Join("..", "..", "examples", "network"))
	if err != nil {
		return err
	}
	env.Setenv("HOME", home)
	env.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
	env.Setenv("KUBECONFIG", "")
	env.Setenv("EXAMPLES", examples)
	env.Values[processesKey{}] = processes{}
	if err := setUpGo(env); err != nil {
		return err
	}
	return os.MkdirAll(home, 0o700)
}

func scriptCondition(name string) (bool, error) {
	switch name {
	case "bridge": // network namespaces and bridges are permitted here
		return bridge.Probe() == nil, nil
	case "ipv6": // the machine has a loopback address of the sixth version
		listener, err := net.Listen("tcp", "[::1]:0")
		if err == nil {
			err = listener.Close()
		}
		return err == nil, nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

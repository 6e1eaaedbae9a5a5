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

// TestMain lets this test binary run as several programs: bowline and kubectl themselves, and programs that
// scripts need and that a machine may not have.
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

// TestScripts runs testdata/script/*.txtar, which contain command lines and their expected output. The README
// there describes the commands that scripts have in addition to those of testscript.
func TestScripts(t *testing.T) {
	t.Parallel()
	if signal.Ignored(syscall.SIGHUP) { // as under nohup; the processes of the scripts must not inherit it
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

// setUpScript gives each script a separate home and state folder.
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
	case "bridge": // network namespaces and bridges are permitted
		return bridge.Probe() == nil, nil
	case "root":
		return os.Geteuid() == 0, nil
	case "ipv6": // the machine has an IPv6 loopback address
		listener, err := net.Listen("tcp", "[::1]:0")
		if err == nil {
			err = listener.Close()
		}
		return err == nil, nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

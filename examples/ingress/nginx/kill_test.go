//go:build linux || darwin

package nginx

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/bowline-dev/bowline/bowlinetest"
)

// controllerVariable makes this test binary run the controller, with the arguments KUBECONFIG FOLDER HTTP.
const controllerVariable = "BOWLINE_NGINX_CONTROLLER"

func TestMain(m *testing.M) {
	if os.Getenv(controllerVariable) == "" {
		os.Exit(m.Run())
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	if err == nil {
		log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelDebug}))
		err = run(context.Background(), Options{Config: config, Folder: os.Args[2], HTTP: os.Args[3], Log: log},
			newLocal)
	}
	if err != nil {
		io.WriteString(os.Stdout, err.Error()+"\n")
		os.Exit(1)
	}
	os.Exit(0)
}

// masterOf returns the PID of the nginx of a folder.
func masterOf(t *testing.T, folder string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, pidFile))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// If the master is killed, its workers still hold the port. They are killed, and nginx is restarted.
func TestKilledNginxIsRestarted(t *testing.T) {
	t.Parallel()
	l := newLab(t, service("web"), endpoints("web", backendServer(t, "web")),
		newIngress("web").prefix("h.com", "/", "web").Ingress)
	for n := range 2 {
		if err := syscall.Kill(masterOf(t, l.folder), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		l.until("nginx is started again", func() bool { return l.count("nginx serves pid") == n+2 })
		l.serves("h.com", "/", "web")
	}
	l.create(newIngress("other").prefix("i.com", "/", "web"))
	l.serves("i.com", "/", "web")
}

// nginx replaces a killed worker, and the controller learns of it: the next reload waits for the current
// workers.
func TestKilledWorkerIsReplaced(t *testing.T) {
	t.Parallel()
	l := newLab(t, service("web"), endpoints("web", backendServer(t, "web")),
		newIngress("web").prefix("h.com", "/", "web").Ingress)
	for _, line := range l.matching("start worker process ") {
		pid, ok := entry{text: line[strings.Index(line, "start worker"):]}.worker("start worker process ")
		if !ok {
			t.Fatalf("no worker in %q", line)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	l.create(newIngress("other").prefix("i.com", "/", "web"))
	l.serves("i.com", "/", "web")
	l.serves("h.com", "/", "web")
	if n := l.count("nginx serves pid"); n != 1 {
		t.Errorf("nginx was started %d times", n)
	}
}

// matching returns the log lines that contain a text.
func (j *journal) matching(text string) []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var found []string
	for _, line := range j.lines {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// program is the controller as a separate process.
type program struct {
	*exec.Cmd
	output *bufio.Scanner
}

// startProgram starts the controller and waits until it logs a text.
func (l *lab) startProgram(kubeconfig, says string) program {
	l.Helper()
	command := exec.CommandContext(l.Context(), os.Args[0], kubeconfig, l.folder, l.http)
	command.Env = append(os.Environ(), controllerVariable+"=yes")
	output, err := command.StdoutPipe()
	if err != nil {
		l.Fatal(err)
	}
	if err := command.Start(); err != nil {
		l.Fatal(err)
	}
	p := program{command, bufio.NewScanner(output)}
	var lines []string
	for p.output.Scan() {
		lines = append(lines, p.output.Text())
		if strings.Contains(p.output.Text(), says) {
			return p
		}
	}
	l.Fatalf("the controller ended without %q:\n%s", says, strings.Join(lines, "\n"))
	return p
}

// The controller is killed while it serves, right after nginx has been killed too, and while it starts. Each
// time its successor serves at the same port, and no process of the predecessor remains.
func TestKilledControllerIsReplaced(t *testing.T) {
	t.Parallel()
	needNginx(t)
	l := &lab{T: t, folder: t.TempDir(), http: freeAddress(t),
		plane: bowlinetest.Start(t, bowlinetest.Socket(), bowlinetest.Objects(
			service("web"), endpoints("web", backendServer(t, "web")),
			newIngress("web").prefix("h.com", "/", "web").Ingress))}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	writeKubeconfig(t, l.plane.SocketConfig(t), kubeconfig)
	for _, says := range []string{"nginx serves", "nginx serves", "start worker process", "nginx serves"} {
		p := l.startProgram(kubeconfig, says)
		if says == "nginx serves" {
			if got := l.get("h.com", "/"); got != "web" {
				t.Errorf("nginx serves %q", got)
			}
			if err := syscall.Kill(masterOf(t, l.folder), syscall.SIGKILL); err != nil { // its workers become orphans
				t.Fatal(err)
			}
		}
		if err := p.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		p.Wait() // the error reports the signal
	}
	p := l.startProgram(kubeconfig, "nginx serves")
	remove[*networkingv1.Ingress](l, "web")
	for got := ""; got != "404" && p.output.Scan(); {
		got = l.get("h.com", "/")
	}
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.Wait()
	l.isFree()
}

// isFree waits until no nginx of the folder runs, and checks that its port is free.
func (l *lab) isFree() {
	l.Helper()
	lock, err := os.Open(filepath.Join(l.folder, nginxLock))
	if err != nil {
		l.Fatal(err)
	}
	defer lock.Close()
	if err := awaitLock(lock); err != nil {
		l.Fatal(err)
	}
	listener, err := net.Listen("tcp", l.http)
	if err != nil {
		l.Fatalf("processes are left: %v", err)
	}
	listener.Close()
}

func writeKubeconfig(t *testing.T, config *rest.Config, path string) {
	t.Helper()
	file := api.NewConfig()
	file.Clusters["c"] = &api.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	file.AuthInfos["u"] = &api.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	file.Contexts["x"] = &api.Context{Cluster: "c", AuthInfo: "u"}
	file.CurrentContext = "x"
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		t.Fatal(err)
	}
}

// A controller that is stopped regularly leaves neither an nginx nor a lock.
func TestStoppedControllerLeavesNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	if err := l.stop(); err != nil {
		t.Error(err)
	}
	l.isFree()
	if err := l.run(); err != nil {
		t.Errorf("the next controller does not start: %v", err)
	}
}

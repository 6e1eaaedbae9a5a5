//go:build race

package clients_test

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	clientv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/bowline-dev/bowline/bowlinetest"
)

// TestWatchingProgramsHaveNoRaces runs the programs with goroutines under the race detector, changes many
// pods, and stops them. If a race is detected, the program exits with an error.
func TestWatchingProgramsHaveNoRaces(t *testing.T) {
	t.Parallel()
	const pods, changes = 20, 5
	programs := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-race", "-o", programs,
		"./informer", "./informer-queue", "./bowline-informer", "./bowline-queue")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build, err, output)
	}
	plane := bowlinetest.Start(t, bowlinetest.Socket())
	for name, last := range map[string]string{
		"informer":         "DELETED   default/last",
		"bowline-informer": "DELETED   default/last",
		"informer-queue":   "worker  default/last: gone",
		"bowline-queue":    "worker default/last: gone",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fork := plane.Fork(t, bowlinetest.Socket())
			program, printed := start(t, filepath.Join(programs, name), kubeconfig(t, fork))
			clients := kubernetes.NewForConfigOrDie(fork.RESTConfig()).CoreV1().Pods("default")
			for n := range pods {
				createAndChange(t, clients, fmt.Sprint("pod-", n), changes)
			}
			expect(t, printed, fmt.Sprint("pod-", pods-1))
			if _, err := clients.Create(t.Context(), makePod("last"), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			expect(t, printed, "default/last")
			if err := clients.Delete(t.Context(), "last", *metav1.NewDeleteOptions(0)); err != nil {
				t.Fatal(err)
			}
			expect(t, printed, last)
			if err := program.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			rest, _ := io.ReadAll(printed)
			if err := program.Wait(); err != nil {
				t.Errorf("%v; it printed:\n%s", err, rest)
			}
		})
	}
}

func createAndChange(t *testing.T, clients clientv1.PodInterface, name string, changes int) {
	t.Helper()
	if _, err := clients.Create(t.Context(), makePod(name), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for change := range changes {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"n":"%d"}}}`, change)
		if _, err := clients.Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

func makePod(name string) *corev1.Pod {
	containers := []corev1.Container{{Name: "main", Image: "nginx"}}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: containers}}
}

// start starts a program, at most until the test ends, and returns its combined output.
func start(t *testing.T, path, kubeconfig string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	program := exec.CommandContext(t.Context(), path, "--kubeconfig", kubeconfig)
	output, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	program.Stderr = program.Stdout
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	return program, bufio.NewReader(output)
}

// expect reads lines until one contains a text.
func expect(t *testing.T, printed *bufio.Reader, text string) {
	t.Helper()
	for line := ""; !strings.Contains(line, text); {
		var err error
		if line, err = printed.ReadString('\n'); err != nil {
			t.Fatalf("it ended before it printed %q", text)
		}
	}
}

// kubeconfig writes a kubeconfig for the administrator of a plane.
func kubeconfig(t *testing.T, plane *bowlinetest.Plane) string {
	t.Helper()
	config := plane.SocketConfig(t)
	written := clientcmdapi.NewConfig()
	written.Clusters["plane"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	written.AuthInfos["admin"] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData,
		ClientKeyData: config.KeyData}
	written.Contexts["plane"] = &clientcmdapi.Context{Cluster: "plane", AuthInfo: "admin"}
	written.CurrentContext = "plane"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*written, file); err != nil {
		t.Fatal(err)
	}
	return file
}

package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bowline-dev/bowline/client"
)

// The test runs a process in its own mount namespace, with the files of a service account and the environment variables
// that every pod has. The machine's /var/run is not changed: the namespace has another file system there.
func TestLoadUsesServiceAccountInPod(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this test makes a mount namespace, which needs root")
	}
	t.Parallel()
	ca := newAuthority(t)
	server := asks(t, ca, "Bearer of-the-pod")
	account := map[string]string{"token": "of-the-pod", "ca.crt": string(ca.pem()), "namespace": "of-the-pod"}
	if got, want := asPod(t, server, account), "server "+server+" v1.37.2, namespace of-the-pod\n"; got != want {
		t.Errorf("got output %q of the pod, want %q", got, want)
	}
	delete(account, "ca.crt")
	if got, want := asPod(t, server, account), "serviceaccount/ca.crt: it holds no certificate"; !strings.Contains(got,
		want) {
		t.Errorf("without the server's CA: got output %q, want %q", got, want)
	}
	delete(account, "token")
	if got, want := asPod(t, server,
		account), "serviceaccount/token (automountServiceAccountToken: false?)"; !strings.Contains(got, want) {
		t.Errorf("without a token: got output %q, want %q", got, want)
	}
}

// asPod runs inPod in a process with these files of a service account, and returns its output.
func asPod(t *testing.T, server string, account map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range account {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	outside, err := os.Readlink(mountNamespace)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	pod := exec.CommandContext(ctx, os.Args[0])
	pod.Env = []string{podVariable + "=" + folder, outsideVariable + "=" + outside, "HOME=" + folder,
		"KUBERNETES_SERVICE_HOST=" + at.Hostname(), "KUBERNETES_SERVICE_PORT=" + at.Port()}
	// Before the process begins, Go makes all mounts of the new namespace private: nothing that it mounts gets out.
	pod.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := pod.Output()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Skipf("this machine makes no mount namespaces: %v", err)
	}
	return string(out)
}

const (
	podVariable     = "BOWLINE_TEST_POD"         // a folder with the files of a service account
	outsideVariable = "BOWLINE_TEST_POD_OUTSIDE" // the mount namespace that must not be touched
	mountNamespace  = "/proc/self/ns/mnt"
	accountFolder   = "/var/run/secrets/kubernetes.io/serviceaccount"
)

func init() { otherSelves[podVariable] = inPod }

// inPod is the main function of the process: it mounts the service account and requests its server's version.
func inPod(folder string) error {
	if err := mountAccount(folder); err != nil {
		return err
	}
	var flags client.Flags
	config, err := client.Load(flags)
	if err != nil {
		return err
	}
	c, err := client.New(config)
	if err != nil {
		return err
	}
	version, err := c.Ping(context.Background())
	if err != nil {
		return err
	}
	namespace, err := flags.Namespace()
	fmt.Printf("server %s %s, namespace %s\n", config.Host, version, namespace)
	return err
}

// mountAccount mounts an empty file system on /var/run and copies the folder's files into it. It does nothing in the
// namespace that the test runs in.
func mountAccount(folder string) error {
	inside, err := os.Readlink(mountNamespace)
	if err != nil || inside == os.Getenv(outsideVariable) {
		return fmt.Errorf("the process has no mount namespace of its own: %s, %v", inside, err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	if err := unix.Mount("tmpfs", "/var/run", "tmpfs", 0, "size=1m"); err != nil {
		return fmt.Errorf("mounting a file system on /var/run: %w", err)
	}
	var at unix.Statfs_t
	if err := unix.Statfs("/var/run", &at); err != nil || at.Type != unix.TMPFS_MAGIC {
		return fmt.Errorf("/var/run is not the new file system: %v", err)
	}
	if left, err := os.ReadDir("/var/run"); err != nil || len(left) > 0 {
		return fmt.Errorf("/var/run is not the new file system: it has %d files, %v", len(left), err)
	}
	return os.CopyFS(accountFolder, os.DirFS(folder))
}

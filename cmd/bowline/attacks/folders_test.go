package attacks

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const nobodyID = 65534

// stateFolders are folders of --data with files that bowline did not write.
func stateFolders(t *testing.T) []execution {
	used := template(usedFolder(t), "data")
	serve := up("--data", "data")
	precious := all(write("precious", "precious\n"), used)
	kept := unchanged("precious", "precious\n")
	rows := []execution{
		{name: "used before", prepare: used, args: serve, codes: []int{served}},
		{name: "mode 0777", prepare: all(used, mode("data", 0o777)), args: serve, codes: []int{served, 1}},
		{name: "objects of mode 0777", prepare: all(used, mode("data/objects", 0o777)), args: serve, codes: []int{served},
			check: private("data/objects")},
		{name: "certificates of mode 0777", prepare: all(used, mode("data/pki", 0o777)), args: serve, codes: []int{served},
			check: private("data/pki")},
		{name: "a file", prepare: write("data", "x"), args: serve, codes: []int{1}, text: "is a file",
			check: unchanged("data", "x")},
		{name: "a FIFO", prepare: fifo("data"), args: serve, codes: []int{1}},
		{name: "a dangling link", prepare: linkTo("nowhere/else", "data"), args: serve, codes: []int{1, served}},
		{name: "a link to itself", prepare: linkTo("data", "data"), args: serve, codes: []int{1}},
		{name: "a device", args: up("--data", "/dev/null"), codes: []int{1}},
		{name: "in proc", args: up("--data", "/proc/self/data"), codes: []int{1}},
		{name: "no name", args: up("--data", ""), codes: []int{2}},
		{name: "a name of 5,000 characters", args: up("--data", strings.Repeat("a", 5_000)), codes: []int{1}},
		{name: "a name with ESC and a line break", args: up("--data", "a\x1b[2J\nb"), codes: []int{served}},
		{name: "the lock is a link", prepare: all(precious, linkTo("../precious", "data/lock")), args: serve, codes: []int{1},
			text: "is a link", check: kept},
		{name: "the identity is a link", prepare: all(precious, linkTo("../precious", "data/plane-id")), args: serve,
			codes: []int{1, served},
			check: kept},
		{name: "the kubeconfig is a link", prepare: all(precious, linkTo("../precious", "data/kubeconfig")), args: serve,
			codes: []int{1}, text: "was not written by bowline up", check: kept},
		{name: "the lock of another program", prepare: all(used, write("data/lock", "precious\n")), args: serve,
			codes: []int{1},
			check: unchanged("data/lock", "precious\n")},
		{name: "a lock of 200 KB", prepare: all(used, write("data/lock", "{"+strings.Repeat("x", 200_000))), args: serve,
			codes: []int{served}},
		{name: "a lock of zeros", prepare: all(used, write("data/lock", strings.Repeat("\x00", 10_000))), args: serve,
			codes: []int{served}},
		{name: "an identity with ESC", prepare: all(used, write("data/plane-id", "\x1b[2J../../x\n")), args: serve,
			codes: []int{1}},
		{name: "an identity of 100 MB", prepare: all(used, fill("data/plane-id", "x", 100*mega)), args: serve,
			codes: []int{1}},
		{name: "an empty identity", prepare: all(used, write("data/plane-id", "")), args: serve, codes: []int{1},
			text: "is empty"},
		{name: "objects of another plane", prepare: all(used, write("data/plane-id", "another\n")), args: serve,
			codes: []int{1}},
		{name: "objects are missing", prepare: all(used, in("data/objects", os.RemoveAll)), args: serve, codes: []int{1}},
		{name: "a socket among the objects", prepare: all(used, in("data/objects/a.sock", socket)), args: serve,
			codes: []int{served, 1}},
		{name: "a folder of another user", prepare: all(used, owner("data", nobodyID)), args: serve, codes: []int{1},
			text: "user"},
		{name: "an authority of another user", prepare: all(used, owner("data/pki/ca.pem", nobodyID)), args: serve,
			codes: []int{1},
			text:  "user"},
		{name: "objects of another user", prepare: all(used, owner("data/objects", nobodyID)), args: serve, codes: []int{1},
			text: "user"},
		{name: "a link of another user", prepare: all(used, linkTo("data", "link"), owner("link", nobodyID)),
			args:  up("--data", "link"),
			codes: []int{1}, text: "user"},
		{name: "in use", prepare: inUse, args: serve, codes: []int{1}, text: "in use"},
		{name: "in use, checked", prepare: inUse, args: []string{"verify", "--data", "data"}, codes: []int{1},
			text: "in use"},
		{name: "in use, with the lock moved away", prepare: all(inUse, moveLock), args: serve, codes: []int{1},
			text: "in use"},
		{name: "in use, with the lock removed", prepare: all(inUse, in("data/lock", os.Remove)), args: serve,
			codes: []int{1}, text: "in use"},
		{name: "a copy of a folder in use", prepare: all(inUse, copyFolder), args: up("--data", "copy"),
			codes: []int{1, served}},
		{name: "held by an address with ESC", prepare: all(used, held("\x1b]0;x\x07https://127.0.0.1:1")), args: serve,
			codes: []int{1},
			text:  "in use"},
		{name: "what a killed server left", prepare: killed, args: up("--ephemeral", "--kubeconfig", "kubeconfig"),
			codes: []int{served},
			check: nothingLeft},
	}
	for _, name := range []string{"pki", "objects", "networks"} {
		rows = append(rows, execution{name: name + ": a link", args: serve, codes: []int{served, 1},
			prepare: all(used, directory("elsewhere"), linkTo("../elsewhere", "data/"+name))})
	}
	for _, name := range []string{"lock", "plane-id", "kubeconfig", "pki/ca.pem", "pki/server.pem", "pki/admin.pem",
		"pki/tokens.pem", "pki/front-proxy-ca.pem", "pki", "objects",
		"objects/CURRENT", "objects/LOCK"} {
		label := strings.ReplaceAll(name, "/", " ")
		rows = append(rows,
			execution{name: label + ": a FIFO", prepare: all(used, fifo("data/"+name)), args: serve, codes: []int{1, served}},
			execution{name: label + ": a FIFO, checked", prepare: all(used, fifo("data/"+name)),
				args:  []string{"verify", "--data", "data"},
				codes: []int{0, 1, 3}},
			execution{name: label + ": dev zero", prepare: all(used, linkTo("/dev/zero", "data/"+name)), args: serve,
				codes: []int{1, served}})
		if name != "objects" && name != "pki" {
			rows = append(rows, execution{name: label + ": a folder", prepare: all(used, directory("data/"+name)), args: serve,
				codes: []int{1, served}})
		}
	}
	return append(rows, damagedStores(used)...)
}

// damagedStores are changed files of Pebble. The server serves what is intact, or does not start; it never ends without
// an explanation.
func damagedStores(used func(*testing.T, string)) []execution {
	var rows []execution
	each := func(pattern string, change func([]byte) []byte) func(*testing.T, string) {
		return func(t *testing.T, folder string) {
			files, err := filepath.Glob(filepath.Join(folder, "data", "objects", pattern))
			if err != nil || len(files) == 0 {
				t.Fatalf("no file %s (%v)", pattern, err)
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err = errors.Join(err, os.WriteFile(file, change(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for name, change := range map[string]func([]byte) []byte{
		"cut in half": func(text []byte) []byte { return text[:len(text)/2] },
		"empty":       func([]byte) []byte { return nil },
		"all ones":    func(text []byte) []byte { return []byte(strings.Repeat("\xff", len(text))) },
		"with a flipped bit": func(text []byte) []byte {
			if len(text) > 0 {
				text[len(text)/2] ^= 1
			}
			return text
		},
		"with a megabyte more": func(text []byte) []byte { return append(text, strings.Repeat("\xff", mega)...) },
	} {
		for _, pattern := range []string{"*.log", "*.sst", "MANIFEST*", "OPTIONS*", "marker*"} {
			rows = append(rows, execution{name: strings.Trim(pattern, "*.") + " " + name,
				prepare: all(used, each(pattern, change)),
				args:    up("--data", "data"), codes: []int{1, served}})
		}
	}
	return rows
}

// private checks that others have no access to a folder.
func private(name string) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		info, err := os.Stat(filepath.Join(folder, name))
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: mode %v (%v), want no access for others", name, info.Mode(), err)
		}
	}
}

func socket(path string) error {
	l, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	return l.Close()
}

// inUse starts a server in the folder, which runs until the row has ended.
func inUse(t *testing.T, folder string) { startServer(t, "--data", filepath.Join(folder, "data")) }

func moveLock(t *testing.T, folder string) {
	if err := os.Rename(filepath.Join(folder, "data", "lock"), filepath.Join(folder, "lock")); err != nil {
		t.Fatal(err)
	}
}

func copyFolder(t *testing.T, folder string) {
	// A file may be removed while it is copied.
	os.CopyFS(filepath.Join(folder, "copy"), os.DirFS(filepath.Join(folder, "data")))
}

// held locks a folder as a server with an address would.
func held(address string) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		file, err := os.OpenFile(filepath.Join(folder, "data", "lock"), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		text := fmt.Sprintf(`{"pid":1,"address":%q}`, "https://x")
		text = strings.ReplaceAll(text, "https://x", strings.NewReplacer("\x1b", `\u001b`, "\x07", `\u0007`).Replace(address))
		if err := errors.Join(os.WriteFile(file.Name(), []byte(text), 0o600), syscall.Flock(int(file.Fd()),
			syscall.LOCK_EX)); err != nil {
			t.Fatal(err)
		}
	}
}

// killed leaves what a server without a state folder leaves when it is killed.
func killed(t *testing.T, folder string) {
	p := start(t, folder, "", up("--ephemeral", "--kubeconfig", "kubeconfig")...)
	if p.await(); p.address == "" {
		t.Fatal(p.out.String())
	}
	p.kill()
}

func nothingLeft(t *testing.T, folder string) {
	left, err := filepath.Glob(filepath.Join(folder, "bowline-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%q are left (%v)", left, err)
	}
}

// certificatesOnDisk are changed certificates in a state folder: also certificates from the past and the future, as
// after a change of the clock. The clock of a process cannot be changed without the machine's.
func certificatesOnDisk(t *testing.T) []execution {
	folder := usedFolder(t)
	used := template(folder, "data")
	serve := up("--data", "data")
	other := newAuthority(t, "bowline-ca")
	own := func(t *testing.T) authority { return readPair(t, filepath.Join(folder, "pki", "ca.pem")) }
	pair := func(name string, make func(t *testing.T) authority) func(*testing.T, string) {
		return all(used, func(t *testing.T, folder string) {
			writePair(t, filepath.Join(folder, "data", "pki", name),
				make(t))
		})
	}
	issued := func(by func(*testing.T) authority, from, to time.Duration) func(*testing.T) authority {
		return func(t *testing.T) authority {
			a := by(t)
			return issue(t, &a, func(c *x509.Certificate) {
				c.Subject = pkix.Name{CommonName: "bowline-admin", Organization: []string{masters}}
				c.NotBefore, c.NotAfter = time.Now().Add(from), time.Now().Add(to)
				c.DNSNames, c.IPAddresses = []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1)}
				c.ExtKeyUsage = append(c.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
			})
		}
	}
	signing := func(from, to time.Duration) func(*testing.T) authority {
		return func(t *testing.T) authority {
			return issue(t, nil, func(c *x509.Certificate) {
				c.Subject, c.IsCA, c.BasicConstraintsValid = pkix.Name{CommonName: "bowline-ca"}, true, true
				c.NotBefore, c.NotAfter, c.KeyUsage = time.Now().Add(from), time.Now().Add(to), x509.KeyUsageCertSign
			})
		}
	}
	foreign := func(*testing.T) authority { return other }
	const year = 365 * 24 * time.Hour
	ok := []int{served}
	rows := []execution{
		{name: "ca: another pair's key", codes: []int{1}, text: "damaged",
			prepare: pair("ca.pem", func(t *testing.T) authority {
				return authority{own(t).certificate, other.key}
			})},
		{name: "ca: no authority", codes: []int{1}, prepare: pair("ca.pem", issued(own, -time.Hour, year))},
		{name: "ca: deleted", codes: ok, prepare: all(used, in("data/pki/ca.pem", os.Remove))},
		{name: "ca: expired", codes: []int{1, served}, prepare: pair("ca.pem", signing(-2*year, -year))},
		{name: "ca: from next year", codes: []int{1, served}, prepare: pair("ca.pem", signing(year, 2*year))},
		{name: "ca: for 8,000 years", codes: []int{1, served}, prepare: pair("ca.pem", signing(-time.Hour, 290*year))},
		{name: "admin: of another authority", codes: ok, prepare: pair("admin.pem", issued(foreign, -time.Hour, year))},
		{name: "server: of another authority", codes: ok, prepare: pair("server.pem", issued(foreign, -time.Hour, year))},
		{name: "admin: deleted", codes: ok, prepare: all(used, in("data/pki/admin.pem", os.Remove))},
		{name: "front-proxy-ca: expired", codes: ok, prepare: pair("front-proxy-ca.pem", signing(-2*year, -year))},
		{name: "front-proxy-ca: no authority", codes: ok, prepare: pair("front-proxy-ca.pem", issued(own, -time.Hour, year))},
		{name: "tokens: a certificate", codes: []int{1}, text: "remove it to create a new key",
			prepare: pair("tokens.pem", issued(own, -time.Hour, year))},
	}
	for _, name := range []string{"tokens", "front-proxy-ca"} { // created again
		file := "data/pki/" + name + ".pem"
		rows = append(rows,
			execution{name: name + ": deleted", codes: ok, prepare: all(used, in(file, os.Remove))},
			execution{name: name + ": empty", codes: ok, prepare: all(used, write(file, ""))},
			execution{name: name + ": 100 MB of zeros", codes: ok, prepare: all(used, fill(file, "\x00", 100*mega))},
			execution{name: name + ": 100,000 beginnings", codes: ok,
				prepare: all(used, fill(file, "-----BEGIN PRIVATE KEY-----\n", 100_000))},
			execution{name: name + ": readable for all", codes: ok, prepare: all(used, mode(file, 0o644))})
	}
	for _, name := range []string{"admin", "server"} {
		file := name + ".pem"
		rows = append(rows,
			execution{name: name + ": expired", codes: ok, prepare: pair(file, issued(own, -2*year, -year))},
			execution{name: name + ": ends in a minute", codes: ok, prepare: pair(file, issued(own, -year, time.Minute))},
			execution{name: name + ": from next year", codes: ok, prepare: pair(file, issued(own, year, 2*year))},
			execution{name: name + ": another pair's key", codes: ok, prepare: pair(file, func(t *testing.T) authority {
				return authority{issued(own, -time.Hour, year)(t).certificate, other.key}
			})},
			execution{name: name + ": empty", codes: ok, prepare: all(used, write("data/pki/"+file, ""))},
			execution{name: name + ": 100 MB of zeros", codes: ok, prepare: all(used, fill("data/pki/"+file, "\x00", 100*mega))},
			execution{name: name + ": 100,000 beginnings", codes: ok,
				prepare: all(used, fill("data/pki/"+file, "-----BEGIN CERTIFICATE-----\n", 100_000))},
			execution{name: name + ": readable for all", codes: ok, prepare: all(used, mode("data/pki/"+file, 0o644))})
	}
	for i := range rows {
		rows[i].args, rows[i].probe, rows[i].check = serve, servesTLS, private("data/pki")
	}
	return rows
}

// servesTLS checks that a server answers a stranger.
func servesTLS(address string) error {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DisableKeepAlives: true}}
	response, err := client.Get("https://" + address + "/livez")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("/livez: %s", response.Status)
	}
	return nil
}

func readPair(t *testing.T, file string) authority {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(file, file)
	if err != nil {
		t.Fatal(err)
	}
	return authority{pair.Leaf, pair.PrivateKey}
}

// filesOfOthers are files of --kubeconfig and -f.
func filesOfOthers(t *testing.T) []execution {
	ephemeral := func(file string) []string { return up("--ephemeral", "--kubeconfig", file) }
	apply := func(file string) []string { return up("--ephemeral", "--kubeconfig", "kubeconfig", "-f", file) }
	bomb := "a: &a [" + repeated("x", 9) + "]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, repeated(fmt.Sprintf("*%c", c-1), 9))
	}
	left := func(text string) func(*testing.T, string) { return unchanged("kubeconfig", text) }
	foreign := "apiVersion: v1\nkind: Config\nclusters: []\n"
	rows := []execution{
		{name: "kubeconfig: a FIFO", prepare: fifo("kubeconfig"), args: ephemeral("kubeconfig"), codes: []int{1}},
		{name: "kubeconfig: dev full", args: ephemeral("/dev/full"), codes: []int{1}},
		{name: "kubeconfig: dev zero", args: ephemeral("/dev/zero"), codes: []int{1}},
		{name: "kubeconfig: dev null", args: ephemeral("/dev/null"), codes: []int{1}},
		{name: "kubeconfig: of another program", prepare: write("kubeconfig", foreign), args: ephemeral("kubeconfig"),
			codes: []int{1},
			text:  "was not written by bowline up", check: left(foreign)},
		{name: "kubeconfig: a text", prepare: write("kubeconfig", "precious"), args: ephemeral("kubeconfig"), codes: []int{1},
			check: left("precious")},
		{name: "kubeconfig: empty", prepare: write("kubeconfig", ""), args: ephemeral("kubeconfig"), codes: []int{1, served}},
		{name: "kubeconfig: aliases of aliases", prepare: write("kubeconfig", bomb), args: ephemeral("kubeconfig"),
			codes: []int{1},
			check: left(bomb)},
		{name: "kubeconfig: 900 KB of brackets", prepare: write("kubeconfig", strings.Repeat("[", 900_000)),
			args:  ephemeral("kubeconfig"),
			codes: []int{1}},
		{name: "kubeconfig: 100 MB", prepare: fill("kubeconfig", "x", 100*mega), args: ephemeral("kubeconfig"),
			codes: []int{1}},
		{name: "kubeconfig: a folder", prepare: directory("kubeconfig"), args: ephemeral("kubeconfig"), codes: []int{1}},
		{name: "kubeconfig: a dangling link", prepare: linkTo("nowhere", "kubeconfig"), args: ephemeral("kubeconfig"),
			codes: []int{1, served}},
		{name: "kubeconfig: a link to itself", prepare: linkTo("kubeconfig", "kubeconfig"), args: ephemeral("kubeconfig"),
			codes: []int{1}},
		{name: "kubeconfig: a name of 5,000 characters", args: ephemeral(strings.Repeat("a", 5_000)), codes: []int{1}},
		{name: "kubeconfig: below a file", prepare: write("file", ""), args: ephemeral("file/kubeconfig"), codes: []int{1}},
		{name: "manifests: dev zero", args: apply("/dev/zero"), codes: []int{served},
			until: "is larger than", sent: 256 * mega},
		{name: "manifests: missing", args: apply("nowhere"), codes: []int{2}},
		{name: "manifests: a folder of links to itself", prepare: linkTo(".", "folder/link"), args: apply("folder"),
			codes: []int{1, served}},
		{name: "manifests: aliases of aliases", prepare: write("a.yaml", bomb), args: apply("a.yaml"), codes: []int{served},
			until: "a.yaml"},
		{name: "manifests: 100,000 brackets", prepare: fill("a.yaml", "[", 100_000), args: apply("a.yaml"),
			codes: []int{served},
			until: "a.yaml"},
		{name: "manifests: 100,000 documents", prepare: write("a.yaml", strings.Repeat("---\n", 100_000)),
			args:  apply("a.yaml"),
			codes: []int{1, served}},
		{name: "manifests: ESC in a name", prepare: write("a.yaml",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"\\e[2J\"}\n"),
			args: apply("a.yaml"), codes: []int{served}, until: "a.yaml"},
		{name: "manifests: a FIFO in a folder", prepare: fifo("folder/a.yaml"), args: apply("folder"), codes: []int{served},
			until: "not a regular file"},
		{name: "verify: a kubeconfig of nothing", args: []string{"verify", "--kubeconfig", "/dev/null"}, codes: []int{1}},
		{name: "kubectl: a kubeconfig of aliases of aliases", prepare: write("kubeconfig", bomb),
			args: []string{"backup", "--kubeconfig", "kubeconfig", "a.backup"}, codes: []int{1}},
		{name: "verify: dev zero", args: []string{"verify", "/dev/zero"}, codes: []int{1}},
		{name: "verify: a folder", prepare: directory("a"), args: []string{"verify", "a"}, codes: []int{1}},
		{name: "restore: dev zero", args: []string{"restore", "--data", "data", "/dev/zero"}, codes: []int{1}},
	}
	return rows
}

// listenAddresses are addresses of --listen.
func listenAddresses(*testing.T) []execution {
	var rows []execution
	for address, codes := range map[string][]int{
		"[::1]:0": {1, served}, "localhost:0": {served}, "127.0.0.1:99999": {2}, "127.0.0.1:-1": {2}, "a b:0": {1, 2},
		"127.0.0.1:0;id": {2}, "unix:/tmp/x": {2}, "[fe80::1%lo]:0": {1}, "\x1b[31m:0": {1, 2}, "": {2},
		":": {1, 2, served}, "127.0.0.1": {2}, "127.0.0.1:0:0": {2}, "[::1": {2}, "127.0.0.1:0x10": {2},
		"192.0.2.1:0": {1}, "127.0.0.1:http\n": {2}, strings.Repeat("a", 5_000) + ":0": {1, 2},
	} {
		rows = append(rows, execution{name: fmt.Sprintf("%.30q", address), codes: codes,
			args: []string{"up", "--ephemeral", "--kubeconfig", "kubeconfig", "--listen", address}})
	}
	return rows
}

// standIns are flags and requests of the programs that envtest starts.
func standIns(*testing.T) []execution {
	var rows []execution
	for _, flag := range []string{"--authorization-mode=AlwaysAllow", "--token-auth-file=/x", "--insecure-port=8080",
		"--insecure-bind-address=0.0.0.0", "--tls-min-version=VersionTLS10", "--tls-cipher-suites=TLS_RSA_WITH_RC4_128_SHA",
		"--enable-admission-plugins=AlwaysPullImages", "--disable-admission-plugins=NamespaceLifecycle", "--client-ca-file=",
		"--feature-gates=All=true", "--runtime-config=evil/v1=true", "--service-cluster-ip-range=0.0.0.0/0",
		"--profiling=evil",
		"--secure-port=99999", "--etcd-servers=file:///etc/passwd", "--client-ca-file=/dev/zero", "--tls-cert-file=/dev/zero",
		"--cert-dir=/dev/null", "--\x1b[2J", "--v=\x1b[2J", "--bind-address=\x1b[2J", "--authorization-mode=" +
			strings.Repeat("x", 100_000)} {
		rows = append(rows, execution{name: "kube-apiserver " + fmt.Sprintf("%.45q", strings.ReplaceAll(flag, "/", "|")),
			program: "kube-apiserver",
			args: []string{"--bind-address=127.0.0.1", "--secure-port=0", "--cert-dir=.", "--etcd-servers=http://127.0.0.1:1",
				flag},
			codes: []int{1, 2}})
	}
	for _, q := range []string{"POST /v3/kv/range 404", "GET /metrics 404", "GET /debug/pprof/ 404",
		"GET /../../etc/passwd 404",
		"GET /v2/keys 404", "DELETE /bowline/claim 405", "POST /bowline/claim 200", "GET /health 200"} {
		method, rest, _ := strings.Cut(q, " ")
		path, code, _ := strings.Cut(rest, " ")
		rows = append(rows, execution{name: "etcd " + strings.ReplaceAll(q, "/", "|"), program: "etcd", codes: []int{served},
			args: []string{"--listen-client-urls=http://127.0.0.1:0", "--data-dir=."}, probe: func(address string) error {
				r, err := http.NewRequest(method, "http://"+address+path, nil)
				if err != nil {
					return err
				}
				response, err := http.DefaultClient.Do(r)
				if err != nil {
					return err
				}
				defer response.Body.Close()
				if !strings.HasPrefix(response.Status, code) {
					return fmt.Errorf("%s: %s", q, response.Status)
				}
				return nil
			}})
	}
	return rows
}

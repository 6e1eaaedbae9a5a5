package standin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"
)

const aboutEtcd = `etcd, as implemented by bowline for tests with envtest. It stores nothing and speaks none of etcd's protocols: it answers
/health, and lets one API server start, which has the objects in its own memory.`

// claimPath is the path to which an API server sends a POST request when it starts.
const claimPath = "/bowline/claim"

// Etcd runs bowline in place of etcd until ctx is done.
func Etcd(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	f := newFlags("etcd", aboutEtcd, stdout)
	clients := f.String("listen-client-urls", "http://127.0.0.1:2379", "the `URL` to answer on")
	f.addIgnored("ignored: nothing is stored", "data-dir", "wal-dir", "unsafe-no-fsync?", "snapshot-count",
		"quota-backend-bytes",
		"auto-compaction-mode", "auto-compaction-retention", "max-request-bytes", "max-txn-ops")
	f.addIgnored("ignored: a single member", "advertise-client-urls", "listen-peer-urls", "initial-advertise-peer-urls",
		"initial-cluster",
		"initial-cluster-state", "initial-cluster-token", "name", "heartbeat-interval", "election-timeout",
		"listen-metrics-urls")
	f.addIgnored("ignored", "log-level", "logger", "log-outputs", "debug?")
	if done, err := parse(f, args); done {
		return err
	}
	where, err := url.Parse(*clients)
	if err != nil || where.Scheme != "http" || where.Host == "" {
		return fmt.Errorf("etcd: invalid --listen-client-urls %q: must be one URL, such as http://127.0.0.1:2379",
			*clients)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", where.Host)
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	fmt.Fprintf(stderr, "bowline runs in place of etcd on %s, and stores nothing\n", listener.Addr())
	server := &http.Server{Handler: etcdHandler(), ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("etcd: %w", err)
	}
	return nil
}

func etcdHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"health":"true","reason":""}`)
	})
	var claimed atomic.Bool
	mux.HandleFunc("POST "+claimPath, func(w http.ResponseWriter, _ *http.Request) {
		if claimed.Swap(true) {
			http.Error(w, "claimed", http.StatusConflict)
		}
	})
	return mux
}

// claim registers an API server with the etcd replacement. It fails if another API server has registered
// before, or if the first of the servers is a real etcd.
func claim(ctx context.Context, servers []string) error {
	if len(servers) == 0 {
		return errors.New("kube-apiserver: --etcd-servers is missing")
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, servers[0]+claimPath, nil)
	if err != nil {
		return fmt.Errorf("kube-apiserver: --etcd-servers: %w", err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	answer, err := transport.RoundTrip(q)
	if err != nil {
		return fmt.Errorf("kube-apiserver: etcd must be started first: %w", err)
	}
	answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusConflict:
		return fmt.Errorf("kube-apiserver: another API server used the etcd at %s: its objects were in its own "+
			"memory, so "+
			"this one would not have them. Start a new etcd for each API server, as envtest's Environment does",
			servers[0])
	}
	return fmt.Errorf("kube-apiserver: the server at %s is not bowline's etcd: bowline does not use a real etcd; "+
		"set KUBEBUILDER_ASSETS, or TEST_ASSET_ETCD, to the folder that bowline assets created", servers[0])
}

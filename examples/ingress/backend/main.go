// Command backend is a web server to route requests to, which makes itself an endpoint of a Service: it is what a pod and its
// cluster's endpoints controller are together, for a server that runs no pods. It answers each request with its own name
// and what it was asked.
//
//	go run ./examples/ingress/backend --service web [--kubeconfig FILE] [--namespace NAME] [--name NAME] [--listen ADDRESS]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/bowline-dev/bowline/client"
	loop "github.com/bowline-dev/bowline/controller"
)

// farewell is how long requests still come after the endpoint is gone, until whoever routes them has heard of it.
const farewell = time.Second

func main() {
	if err := run(os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

type arguments struct {
	server                           client.Flags
	service, namespace, name, listen string
}

func run(args []string) error {
	a, err := parse(args)
	if err != nil {
		return err
	}
	config, err := client.Load(a.server)
	if err != nil {
		return fmt.Errorf("find the server: %w", err)
	}
	config.UserAgent = "bowline-backend"
	m, err := loop.NewManager(config, loop.ManagerOptions{})
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	return a.serve(ctx, m)
}

func parse(args []string) (a arguments, err error) {
	set := flag.NewFlagSet("backend", flag.ContinueOnError)
	a.server.Bind(set)
	set.StringVar(&a.service, "service", "", "`name` of the Service to be an endpoint of")
	set.StringVar(&a.namespace, "namespace", "default", "the Service's `namespace`")
	set.StringVar(&a.name, "name", "", "what answers are signed with (default: the address)")
	set.StringVar(&a.listen, "listen", "", "`address` to serve on, no loopback one (default: this machine's own, any free port)")
	if err := set.Parse(args); err != nil {
		return a, err
	}
	if a.service == "" || set.NArg() > 0 {
		return a, errors.New("say which Service to be an endpoint of: --service NAME, and nothing but flags; see --help")
	}
	return a, nil
}

// listening is where requests are answered, and by which address others reach that.
func (a arguments) listening() (net.Listener, *net.TCPAddr, error) {
	if a.listen == "" {
		own, err := ownAddress()
		if err != nil {
			return nil, nil, err
		}
		a.listen = net.JoinHostPort(own.String(), "0")
	}
	l, err := net.Listen("tcp", a.listen)
	if err != nil {
		return nil, nil, err
	}
	address := *l.Addr().(*net.TCPAddr)
	if address.IP.IsUnspecified() { // it listens at all of them
		address.IP, err = ownAddress()
	}
	return l, &address, err
}

// ownAddress is the machine's first address that others can reach it by, of IPv4 if it has one. Kubernetes takes no loopback
// address as an endpoint.
func ownAddress() (own net.IP, err error) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("find this machine's address: %w", err)
	}
	for _, a := range all {
		n, ok := a.(*net.IPNet)
		if ok && n.IP.IsGlobalUnicast() && (own == nil || own.To4() == nil && n.IP.To4() != nil) {
			own = n.IP
		}
	}
	if own == nil {
		return nil, errors.New("this machine has none but loopback addresses, which Kubernetes takes for no endpoint: " +
			"give it one, as with: ip address add 192.0.2.1/32 dev lo")
	}
	return own, nil
}

// serve answers requests until ctx ends, and is an endpoint while there is the service. It is one no longer when it stops to
// answer.
func (a arguments) serve(ctx context.Context, m *loop.Manager) error {
	l, address, err := a.listening()
	if l != nil {
		defer l.Close()
	}
	if err != nil {
		return err
	}
	if a.name == "" {
		a.name = address.String()
	}
	server := &http.Server{Handler: http.HandlerFunc(a.answer), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	e := newEndpoint(m.Client(), a.namespace, a.service, address)
	if err := e.join(ctx); err != nil {
		return err
	}
	e.keep(m)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		served <- server.Serve(l)
		stop()
	}()
	err = m.Run(ctx)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	err = errors.Join(err, e.leave(last))
	time.Sleep(farewell)
	err = errors.Join(err, server.Shutdown(last))
	if end := <-served; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	return err
}

// answer says who answers what.
func (a arguments) answer(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "%s answers %s %s for %s\n", a.name, r.Method, r.URL.Path, r.Host)
}

// Command backend is a web server that registers itself as an endpoint of a Service. It takes the place of a
// pod and of the cluster's EndpointSlice controller, for a server that runs no pods. It answers each request
// with its name and the request line.
//
//	go run ./examples/ingress/backend --service web [--kubeconfig FILE] [--namespace NAME] [--name NAME]
//	  [--listen ADDRESS]
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

// drainTime is how long the server continues to answer after its endpoint is deleted, until proxies have
// noticed the deletion.
const drainTime = time.Second

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
	set.StringVar(&a.name, "name", "", "`name` in the responses (default: the address)")
	set.StringVar(&a.listen, "listen", "",
		"`address` to serve on, not a loopback address (default: this machine's own, any free port)")
	if err := set.Parse(args); err != nil {
		return a, err
	}
	if a.service == "" || set.NArg() > 0 {
		return a,
			errors.New("--service NAME is required, and arguments are not accepted; see --help")
	}
	return a, nil
}

// listening opens the listener, and returns the address by which other machines reach it.
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
	if address.IP.IsUnspecified() { // all addresses
		address.IP, err = ownAddress()
	}
	return l, &address, err
}

// ownAddress returns the first global address of the machine, preferably IPv4. Kubernetes rejects loopback
// addresses as endpoints.
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
		return nil,
			errors.New("this machine has only loopback addresses, which Kubernetes rejects as endpoints: " +
				"add one, for example with ip address add 192.0.2.1/32 dev lo")
	}
	return own, nil
}

// serve answers requests until ctx ends. It deletes its endpoint before it stops the server.
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
	time.Sleep(drainTime)
	err = errors.Join(err, server.Shutdown(last))
	if end := <-served; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	return err
}

// answer responds with the server's name and the request.
func (a arguments) answer(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "%s answers %s %s for %s\n", a.name, r.Method, r.URL.Path, r.Host)
}

// Package up implements bowline up, which serves a plane until it receives a signal.
package up

import (
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/cli"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/manifest"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/serve"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/terminal"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/plugins"
	"github.com/bowline-dev/bowline/node/simulated"
)

// upFlags holds the parsed flags of bowline up.
type upFlags struct {
	listen          string
	data            string
	kubeconfig      string
	controllers     []string
	admission       []string
	admissionConfig string
	api             []string
	files           []string
	nodes           int
	images          []string
	maxBytes        string
	maxNamespace    string
	networkProvider string
	ingress         ingressFlags
	ephemeral       bool
	acceptDamage    bool
	logFormat       string
	verbose         bool
}

var (
	networkProviders = []string{"auto", "bridge", "record", "neutron"}
	logFormats       = []string{"text", "json"}
)

const upHelp = `Serves the Kubernetes API over HTTPS, runs controllers, and applies the manifests of -f. It
prints its address and the kubeconfig to use, then a line for each applied object once it is
ready: Established for a definition, Available for a deployment on simulated nodes, Ready
for an object with this condition, stored for all others. The server runs until SIGINT,
SIGTERM or, if the terminal is closed, SIGHUP; a second signal stops it at once. It waits up
to 5 seconds for requests, and for all work at most a minute; then it fails, and names what
did not stop.

Objects are stored in the state folder: --data, or else $XDG_STATE_HOME/bowline
(~/.local/state/bowline). A write is acknowledged when it is durable, and a restarted server
continues with the stored objects, even after a crash. The folder also holds the
certificates, the kubeconfig and the identity of the plane. Only one server at a time can
use it, and no part of it may belong to another user. The kubeconfig is removed first and
written when the server is ready, so a script can wait for the file. bowline kubectl uses
the user's default folder; set KUBECONFIG for a server with another --data.

If stored objects are damaged, or acknowledged writes are missing, the server lists them and
does not start. With --accept-damage it serves all other objects; the damaged ones remain in
the store until they are deleted. If the object store itself is missing, the server does not
start with an empty one.

Objects are held in memory, whose size is bounded: --max-bytes. If they reach it, writes
that add to them are rejected with status 507; reads, deletes and status updates continue.
The server uses the memory that the machine, its cgroup and its ulimits allow, or that of
GOMEMLIMIT, and rejects requests while it is short.

If OTEL_EXPORTER_OTLP_ENDPOINT names an OpenTelemetry collector, the server exports a trace
of each request with its stages.

Exit codes: 0 stopped cleanly; 1 failure, or stopped at once; 2 invalid command line.`

const upExamples = `  # Serve on https://127.0.0.1:6443, with the default controllers.
  bowline up

  # Create the declared networks: as bridges if that is permitted, otherwise as records.
  bowline up --controllers='*,network' -f examples/network

  # Let nginx route requests to the services of Ingresses.
  bowline up --controllers='*,ingress' -f examples/ingress/example

  # Use another state folder, and connect to that server.
  bowline up --data ./plane --listen 127.0.0.1:7443
  KUBECONFIG=./plane/kubeconfig bowline kubectl get namespaces

  # In a test: any free port, a kubeconfig to wait for, and nothing left behind.
  bowline up --ephemeral --listen 127.0.0.1:0 --kubeconfig ./kubeconfig

  # Send a trace of each request to a collector on this machine.
  OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 bowline up

  # Store at most 512 MiB of objects, and 16 MiB in each namespace.
  bowline up --max-bytes 512Mi --max-namespace-bytes 16Mi

  # Turn an admission plugin on, and another one off.
  bowline up --admission AlwaysPullImages,-LimitRanger

  # Turn the beta versions of all APIs off, and autoscaling/v1, as kube-apiserver does
  # with --runtime-config. Their objects are served in the other versions: policy/v1,
  # networking.k8s.io/v1, autoscaling/v2 and so on.
  bowline up --api api/beta=false,autoscaling/v1=false

  # Turn a version on that Kubernetes disables by default.
  bowline up --api resource.k8s.io/v1beta1=true

  # Simulate the nodes node-0, node-1 and node-2, whose pods change their
  # status without running.
  bowline up --nodes 3

  # Apply the output of another program.
  helm template ./chart | bowline up -f -`

// Command returns the bowline up command. The parameter started is the start time of the process.
func Command(started time.Time) *cobra.Command {
	var flags upFlags
	cmd := &cobra.Command{
		Use:     "up",
		Short:   "Serve the Kubernetes API and run controllers until stopped",
		Long:    upHelp,
		Example: upExamples,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("data") && flags.data == "" {
				return cli.Usagef("--data is empty: name a folder, or omit the flag")
			}
			plan, err := flags.plan()
			if err != nil {
				return err
			}
			if err := flags.ingress.check(cmd, plan.controllers.Ingress); err != nil {
				return err
			}
			plan.started, plan.stdin = started, cmd.InOrStdin()
			plan.screen = terminal.NewScreen(cmd.OutOrStdout(), cmd.ErrOrStderr())
			level := slog.LevelInfo
			if flags.verbose {
				level = slog.LevelDebug
			}
			plan.log = terminal.NewLogger(plan.screen, flags.logFormat, level)
			klog.SetSlogLogger(plan.log) // client-go logs through klog
			return cli.UntilSignal(cmd.Context(), plan.run)
		},
	}
	flags.add(cmd)
	return cmd
}

func (f *upFlags) add(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVar(&f.listen, "listen", "127.0.0.1:6443", "`address` to serve HTTPS on; port 0 selects a free port")
	set.StringVar(&f.data, "data", "",
		"state `folder`, created if missing (default: the user's state folder)")
	set.StringVar(&f.kubeconfig, "kubeconfig", "",
		"`file` for the kubeconfig; a file that bowline up did not write is never replaced (default: kubeconfig in the state folder)")
	set.StringSliceVar(&f.controllers, "controllers", []string{serve.AllControllers},
		"`list` of controllers: a name turns one on, -name off, '*' all that are on by default, which "+
			strings.Join(serve.ExampleControllers, " and ")+" are not; known are "+
			strings.Join(append(serve.KnownControllers(), serve.ExampleControllers...), ", "))
	set.StringSliceVar(&f.admission, "admission", nil,
		"`list` of admission plugins: a name turns one on, -name off; all are on by default, except "+
			strings.Join(optionalPlugins(), ", ")+", and ServiceAccount without the controller serviceaccount; known are "+
			strings.Join(bowline.AdmissionPlugins(), ", "))
	set.StringVar(&f.admissionConfig, "admission-config", "",
		"`file` that configures admission plugins, an AdmissionConfiguration as for kube-apiserver's "+
			"--admission-control-config-file; EventRateLimit and ImagePolicyWebhook need it")
	set.StringSliceVar(&f.api, "api", nil,
		"`list` of APIs to turn on or off, in the syntax of kube-apiserver's --runtime-config: GROUP/VERSION=false, "+
			"GROUP/VERSION/RESOURCE=false, v1/RESOURCE=false, api/beta=false; all are on by default, except versions "+
			"that Kubernetes disables by default, such as resource.k8s.io/v1beta1; objects of those that are off remain "+
			"stored; repeatable")
	set.StringArrayVarP(&f.files, "file", "f", nil,
		"apply the manifests in a `file` of up to 256 MiB, folder or standard input (-); repeatable; folders are read "+
			"recursively, except testdata")
	set.StringVar(&f.maxBytes, "max-bytes", "",
		"maximum `size` of all stored objects, such as 2Gi: beyond it, writes that add to them are rejected "+
			"(default: a third of the memory that the process may use)")
	set.StringVar(&f.maxNamespace, "max-namespace-bytes", "",
		"maximum `size` of the stored objects of each namespace (default: none)")
	set.IntVar(&f.nodes, "nodes", 0,
		"`number` of simulated nodes, which set the status of pods without running them")
	set.StringSliceVar(&f.images, "images", simulated.DefaultImages(),
		"`list` of the images that simulated nodes can pull: patterns in which * matches any text, -PATTERN for images that "+
			"do not exist; the last match decides, and a list that begins with -PATTERN adds to the default")
	set.StringVar(&f.networkProvider, "network-provider", networkProviders[0],
		"`provider` of the network controller: "+strings.Join(networkProviders, ", "))
	f.ingress.add(cmd)
	set.BoolVar(&f.ephemeral, "ephemeral", false,
		"keep objects in memory and files in a temporary folder, and remove both at the end, with all created networks")
	set.BoolVar(&f.acceptDamage, "accept-damage", false,
		"start although some stored objects cannot be read or the last writes are lost; unreadable objects can be "+
			"deleted")
	set.StringVar(&f.logFormat, "log-format", logFormats[0],
		"`format` of the log on standard error: "+strings.Join(logFormats, ", "))
	set.BoolVarP(&f.verbose, "verbose", "v", false, "log details too")
	cli.CompleteFlag(cmd, "network-provider", networkProviders)
	cli.CompleteFlag(cmd, "log-format", logFormats)
	cli.CompleteFlag(cmd, "admission", bowline.AdmissionPlugins())
	cli.CompleteFlagFunc(cmd, "api", apiValues)
	cli.CompleteFlag(cmd, "controllers",
		append(append(serve.KnownControllers(), serve.ExampleControllers...), serve.AllControllers))
}

// optionalPlugins returns the admission plugins that are off by default, whichever controllers run.
func optionalPlugins() []string {
	return slices.DeleteFunc(bowline.AdmissionPlugins(), func(name string) bool {
		return plugins.IsDefault(name) || name == plugins.ServiceAccount{}.Name()
	})
}

// plan validates the flags and returns the resulting plan.
func (f *upFlags) plan() (*plan, error) {
	if err := cli.OneOf("network-provider", f.networkProvider, networkProviders); err != nil {
		return nil, err
	}
	if err := cli.OneOf("log-format", f.logFormat, logFormats); err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(f.listen)
	if _, notPort := strconv.ParseUint(port, 10, 16); err == nil && notPort != nil {
		err = fmt.Errorf("invalid port %q", port)
	}
	if err != nil {
		return nil, cli.Usagef("invalid --listen %q: must be an address and a port, such as 127.0.0.1:6443 (%w)",
			f.listen,
			err)
	}
	if f.data != "" && f.ephemeral {
		return nil, cli.Usagef("--data %s and --ephemeral exclude each other: omit one of them",
			f.data)
	}
	if f.nodes < 0 || f.nodes > maxNodes {
		return nil, cli.Usagef("invalid --nodes %d: must be from 0 to %d", f.nodes, maxNodes)
	}
	for _, pattern := range f.images {
		if strings.TrimPrefix(pattern, "-") == "" {
			return nil, cli.Usagef("invalid --images %s: has an empty pattern", strings.Join(f.images, ","))
		}
	}
	if f.acceptDamage && f.ephemeral {
		return nil,
			cli.Usagef("--accept-damage and --ephemeral exclude each other: omit one of them")
	}
	maxBytes, err := cli.Bytes("max-bytes", f.maxBytes)
	if err != nil {
		return nil, err
	}
	maxNamespaceBytes, err := cli.Bytes("max-namespace-bytes", f.maxNamespace)
	if err != nil {
		return nil, err
	}
	controllers, err := serve.SelectControllers(f.controllers, serve.KnownControllers())
	if err != nil {
		return nil, err
	}
	if err := plugins.Check(f.admission); err != nil {
		return nil, cli.Usagef("--admission: %w", err)
	}
	if _, err := plugins.ReadSettings(f.admissionConfig, controllers.Admission(f.admission)); err != nil {
		return nil, cli.Usagef("--admission-config: %w", err)
	}
	if err := builtin.CheckAPIs(f.api, partNeeds(controllers, f.nodes > 0)); err != nil {
		return nil, cli.Usagef("--api: %w", err)
	}
	if err := manifest.Check(f.files); err != nil {
		return nil, cli.Usagef("%w", err)
	}
	return &plan{flags: *f, host: host, controllers: controllers, maxBytes: maxBytes,
		maxNamespaceBytes: maxNamespaceBytes}, nil
}

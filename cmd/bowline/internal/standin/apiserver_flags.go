package standin

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/plugins"
)

const aboutAPIServer = `kube-apiserver, as implemented by bowline for tests with envtest: the Kubernetes API, with its objects in the
memory of this process. A flag for a feature that bowline does not have is rejected, and nothing starts.`

// apiServer holds the values of the flags of kube-apiserver that bowline implements.
type apiServer struct {
	bindAddress, port          string
	certDir, certFile, keyFile string
	clientCA                   string
	etcd                       []string
	verbosity                  int
	admission, api             []string // see bowline.Options
}

func (s *apiServer) flags(to io.Writer) flagSet {
	f := newFlags("kube-apiserver", aboutAPIServer, to)
	f.StringVar(&s.bindAddress, "bind-address", "127.0.0.1",
		"the `address` to listen on; unlike Kubernetes' server, only this machine's clients are served by default")
	f.StringVar(&s.port, "secure-port", "6443", "the `port` to listen on, with TLS")
	f.StringVar(&s.certDir, "cert-dir", "",
		"the `folder` of apiserver.crt and apiserver.key, the defaults of the next two flags")
	f.StringVar(&s.certFile, "tls-cert-file", "", "`file` with the server's certificate")
	f.StringVar(&s.keyFile, "tls-private-key-file", "", "`file` with the key of the certificate")
	f.StringVar(&s.clientCA, "client-ca-file", "", "`file` with the certificate authorities for client certificates")
	f.StringSliceVar(&s.etcd, "etcd-servers", nil,
		"the `URL` of bowline's etcd, which was started with this server")
	f.IntVarP(&s.verbosity, "v", "v", 0, "the log level, a `number`; 4 or more logs details")
	s.addCheckedFlags(f)
	addIgnoredFlags(f)
	addRefusedFlags(f)
	addInsecure(f)
	return f
}

// addCheckedFlags adds the flags whose value must match the behavior of bowline.
func (s *apiServer) addCheckedFlags(f flagSet) {
	f.addFixed("authorization-mode", "list",
		"members of system:masters may do everything, and others what system:discovery and the "+
			"roles allow that clients create; Kubernetes' own roles do not exist", "RBAC", "Node")
	f.addFixed("service-cluster-ip-range", "range", "the range of service addresses", "10.0.0.0/24")
	f.addFixed("service-node-port-range", "range", "the range of node ports", "30000-32767")
	f.addFixed("allow-privileged", "bool", "privileged pods are stored like others, and never run", "true")
	f.addFixed("profiling", "bool", "administrators can read profiles", "true")
	f.addFixed("anonymous-auth", "bool", "health and version are public", "true")
	f.addFixed("storage-backend", "name", "accepted for envtest; objects are in memory", "etcd3")
	f.addChecked("disable-admission-plugins", "list", "the admission plugins to turn off", eachOf(s.disable))
	f.addChecked("enable-admission-plugins", "list",
		"the admission plugins to turn on, of "+strings.Join(plugins.Names(), ", "), eachOf(s.enable))
	f.addChecked("feature-gates", "list", "gates can only be turned off", eachOf(checkFeatureGate))
	f.addChecked("runtime-config", "list", "the built-in versions and resources to turn on or off, all of which are "+
		"on by default: GROUP/VERSION=false, GROUP/VERSION/RESOURCE=false, api/beta=false", eachOf(s.setAPI))
}

// disable turns an admission plugin off. One that bowline does not have is off already.
func (s *apiServer) disable(plugin string) error {
	if slices.Contains(plugins.Names(), plugin) {
		s.admission = append(s.admission, "-"+plugin)
	}
	return nil
}

// enable turns an admission plugin on.
func (s *apiServer) enable(plugin string) error {
	if !slices.Contains(plugins.Names(), plugin) {
		return fmt.Errorf("bowline has no admission plugin %s, only %s", plugin, strings.Join(plugins.Names(), ", "))
	}
	s.admission = append(s.admission, plugin)
	return nil
}

// checkFeatureGate rejects every feature gate that is turned on, because bowline has no gates. It accepts any gate
// that is turned off, because bowline cannot tell which features a gate covers.
func checkFeatureGate(setting string) error {
	name, on, ok := strings.Cut(setting, "=")
	if !ok || on != "true" && on != "false" {
		return fmt.Errorf("invalid value %q: must be NAME=true or NAME=false", setting)
	}
	if on == "true" {
		return fmt.Errorf("bowline has no feature gates, and cannot turn on %s (see docs/compatibility.md)",
			name)
	}
	return nil
}

// setAPI adds an entry of --runtime-config. It ignores an entry that turns off an API that bowline does not have.
func (s *apiServer) setAPI(setting string) error {
	_, err := builtin.ParseAPIs([]string{setting})
	var unknown *builtin.UnknownAPIError
	switch {
	case errors.As(err, &unknown) && !unknown.On:
		return nil
	case unknown != nil:
		name, _, _ := strings.Cut(setting, "=")
		return fmt.Errorf("bowline does not serve %s: %w", name, err)
	case err != nil:
		return err
	}
	s.api = append(s.api, setting)
	return nil
}

// addIgnoredFlags adds flags without an effect that a test's client could observe. A trailing ? marks flags that
// need no value.
func addIgnoredFlags(f flagSet) {
	f.addIgnored("ignored: bowline signs tokens with a key of its own", "service-account-issuer", "service-account-key-file",
		"service-account-signing-key-file", "service-account-jwks-uri", "service-account-lookup?",
		"service-account-max-token-expiration",
		"service-account-extend-token-expiration?", "api-audiences")
	f.addIgnored("ignored: objects are in memory", "etcd-prefix", "etcd-compaction-interval",
		"etcd-count-metric-poll-period",
		"etcd-healthcheck-timeout", "etcd-readycheck-timeout", "storage-media-type", "watch-cache?",
		"watch-cache-sizes",
		"default-watch-cache-size", "delete-collection-workers")
	f.addIgnored("ignored: there are no nodes", "kubelet-certificate-authority", "kubelet-client-certificate",
		"kubelet-client-key",
		"kubelet-timeout", "kubelet-preferred-address-types", "advertise-address", "endpoint-reconciler-type",
		"apiserver-count")
	f.addIgnored("ignored: bowline has its own fair queue", "max-requests-inflight",
		"max-mutating-requests-inflight",
		"enable-priority-and-fairness?", "request-timeout", "min-request-timeout", "goaway-chance",
		"http2-max-streams-per-connection")
	f.addIgnored("ignored: shutdown is not delayed", "shutdown-delay-duration", "shutdown-send-retry-after?",
		"livez-grace-period")
	f.addIgnored("ignored", "event-ttl", "enable-garbage-collector?", "enable-aggregator-routing?", "external-hostname",
		"logging-format", "log-flush-frequency", "vmodule", "logtostderr?")
}

func addRefusedFlags(f flagSet) {
	f.addRefused("objects are not encrypted in memory", "encryption-provider-config")
	f.addRefused("there is no audit log", "audit-policy-file", "audit-log-path", "audit-webhook-config-file")
	f.addRefused("users authenticate with tokens of service accounts and client certificates only", "token-auth-file",
		"oidc-issuer-url", "authentication-config",
		"authentication-token-webhook-config-file", "enable-bootstrap-token-auth", "requestheader-client-ca-file")
	f.addRefused("only roles authorize users who are not in the group system:masters", "authorization-config",
		"authorization-policy-file",
		"authorization-webhook-config-file")
	f.addRefused("only bowline up configures admission plugins, with --admission-config", "admission-control-config-file")
	f.addRefused("there are no other servers to reach", "egress-selector-config-file", "proxy-client-cert-file",
		"proxy-client-key-file")
	f.addRefused("use OTEL_EXPORTER_OTLP_ENDPOINT of bowline up to export traces", "tracing-config-file")
	f.addRefused("the server has one certificate, and accepts TLS 1.2 and 1.3", "tls-sni-cert-key", "tls-min-version",
		"tls-cipher-suites")
}

// addInsecure adds --insecure-port, which old suites set to 0. The flag is hidden in the help text, because
// envtest takes a server whose help mentions it for Kubernetes 1.23 or older.
func addInsecure(f flagSet) {
	f.addFixed("insecure-port", "port", "the server only uses TLS", "0")
	f.Lookup("insecure-port").Hidden = true
}

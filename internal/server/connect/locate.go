package connect

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/server/request"
)

// target is where a request is forwarded to.
type target struct {
	url url.URL
	up  *Upstream
	// streams are those that an exec or attach opens; nil for others.
	streams *streams
	// websockets reports whether the kubelet speaks all protocols of WebSockets. Older ones speak SPDY instead of the
	// newest.
	websockets bool
	// follow makes a log arrive as it is written.
	follow bool
}

// streams are the streams that a client asks for.
type streams struct{ stdin, stdout, stderr, tty bool }

var (
	pods     = schema.GroupResource{Resource: "pods"}
	nodes    = schema.GroupResource{Resource: "nodes"}
	services = schema.GroupResource{Resource: "services"}
)

// locate returns the target of a request; nil for the log of a pod that has no node.
func (c *Connector) locate(req *request.Request, options runtime.Object) (*target, error) {
	ctx := req.Context()
	switch o := options.(type) {
	case *corev1.PodExecOptions:
		return c.streamTarget(ctx, req, o.Container, &streams{o.Stdin, o.Stdout, o.Stderr, o.TTY}, o.Command)
	case *corev1.PodAttachOptions:
		return c.streamTarget(ctx, req, o.Container, &streams{o.Stdin, o.Stdout, o.Stderr, o.TTY}, nil)
	case *corev1.PodPortForwardOptions:
		return c.portForwardTarget(ctx, req, o)
	case *corev1.PodLogOptions:
		return c.logTarget(ctx, req, o)
	case *corev1.PodProxyOptions:
		return c.podTarget(ctx, req, o.Path)
	case *corev1.ServiceProxyOptions:
		return c.serviceTarget(ctx, req, o.Path)
	case *corev1.NodeProxyOptions:
		return c.nodeTarget(ctx, req, o.Path)
	}
	return nil, fmt.Errorf("unknown options %T", options)
}

// get reads an object of a built-in kind, or returns a 404.
func get[T kind.Object](ctx context.Context, c *Connector, gr schema.GroupResource, namespace, name string) (T, error) {
	var none T
	obj, err := c.o.Reader.Get(ctx, gr, namespace, name)
	if err != nil {
		return none, err
	}
	if obj == nil {
		return none, apierrors.NewNotFound(gr, name)
	}
	return obj.(T), nil
}

// streamTarget returns the target of an exec or attach.
func (c *Connector) streamTarget(ctx context.Context, req *request.Request, container string, opens *streams,
	command []string) (*target, error) {
	pod, err := get[*corev1.Pod](ctx, c, pods, req.Namespace, req.Name)
	if err != nil {
		return nil, err
	}
	if container, err = chooseContainer(pod, container); err != nil {
		return nil, err
	}
	to, err := c.kubeletOf(ctx, pod)
	if err != nil {
		return nil, err
	}
	query := url.Values{}
	for name, set := range map[string]bool{corev1.ExecStdinParam: opens.stdin, corev1.ExecStdoutParam: opens.stdout,
		corev1.ExecStderrParam: opens.stderr, corev1.ExecTTYParam: opens.tty} {
		if set {
			query.Set(name, "1")
		}
	}
	if len(command) > 0 {
		query[corev1.ExecCommandParam] = command
	}
	to.url.Path = "/" + req.Subresource + "/" + pod.Namespace + "/" + pod.Name + "/" + container
	to.url.RawQuery, to.streams = query.Encode(), opens
	return to, nil
}

func (c *Connector) portForwardTarget(ctx context.Context, req *request.Request, o *corev1.PodPortForwardOptions) (
	*target, error) {
	pod, err := get[*corev1.Pod](ctx, c, pods, req.Namespace, req.Name)
	if err != nil {
		return nil, err
	}
	to, err := c.kubeletOf(ctx, pod)
	if err != nil {
		return nil, err
	}
	to.url.Path = "/portForward/" + pod.Namespace + "/" + pod.Name
	if len(o.Ports) > 0 {
		var ports []string
		for _, port := range o.Ports {
			ports = append(ports, strconv.Itoa(int(port)))
		}
		to.url.RawQuery = url.Values{corev1.PortHeader: {strings.Join(ports, ",")}}.Encode()
	}
	return to, nil
}

func (c *Connector) logTarget(ctx context.Context, req *request.Request, o *corev1.PodLogOptions) (*target, error) {
	pod, err := get[*corev1.Pod](ctx, c, pods, req.Namespace, req.Name)
	if err != nil {
		return nil, err
	}
	container, err := chooseContainer(pod, o.Container)
	if err != nil || pod.Spec.NodeName == "" {
		return nil, err
	}
	to, err := c.kubeletOf(ctx, pod)
	if err != nil {
		return nil, err
	}
	query := url.Values{}
	for name, set := range map[string]bool{"follow": o.Follow, "previous": o.Previous, "timestamps": o.Timestamps} {
		if set {
			query.Set(name, "true")
		}
	}
	for name, n := range map[string]*int64{"sinceSeconds": o.SinceSeconds, "tailLines": o.TailLines,
		"limitBytes": o.LimitBytes} {
		if n != nil {
			query.Set(name, strconv.FormatInt(*n, 10))
		}
	}
	if o.SinceTime != nil {
		query.Set("sinceTime", o.SinceTime.Format(time.RFC3339))
	}
	if o.InsecureSkipTLSVerifyBackend {
		to.up = c.insecure
	}
	to.url.Path = "/containerLogs/" + pod.Namespace + "/" + pod.Name + "/" + container
	to.url.RawQuery, to.follow = query.Encode(), o.Follow
	return to, nil
}

// chooseContainer returns the container of a request: the named one, or the only one.
func chooseContainer(pod *corev1.Pod, name string) (string, error) {
	spec := &pod.Spec
	var names []string
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		names = append(names, c.Name)
	}
	for i := range spec.EphemeralContainers {
		names = append(names, spec.EphemeralContainers[i].Name)
	}
	switch {
	case name != "" && slices.Contains(names, name):
		return name, nil
	case name != "":
		return "", apierrors.NewBadRequest(fmt.Sprintf("container %s is not valid for pod %s", name, pod.Name))
	case len(spec.Containers) == 1:
		return spec.Containers[0].Name, nil
	case len(spec.Containers) == 0:
		return "", apierrors.NewBadRequest("a container name must be specified for pod " + pod.Name)
	}
	return "", apierrors.NewBadRequest(fmt.Sprintf("a container name must be specified for pod %s, choose one of: %s",
		pod.Name, names))
}

// kubeletOf returns the kubelet of a pod, without a path.
func (c *Connector) kubeletOf(ctx context.Context, pod *corev1.Pod) (*target, error) {
	if pod.Spec.NodeName == "" {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("pod %s does not have a host assigned", pod.Name))
	}
	node, err := get[*corev1.Node](ctx, c, nodes, "", pod.Spec.NodeName)
	switch {
	case apierrors.IsNotFound(err): // as in Kubernetes, the error names the resource of the request
		return nil, apierrors.NewNotFound(pods, pod.Spec.NodeName)
	case err != nil:
		return nil, err
	case isSimulated(node):
		return nil, simulatedError(pod)
	}
	return c.kubeletAt(node)
}

func simulatedError(pod *corev1.Pod) error {
	return apierrors.NewBadRequest(fmt.Sprintf(
		"pod %s is on the simulated node %s, which runs no containers: it only sets the status of its pods",
		pod.Name, pod.Spec.NodeName))
}

// rejectSimulated returns an error for a pod on a simulated node, whose address may be that of another machine.
func (c *Connector) rejectSimulated(ctx context.Context, pod *corev1.Pod) error {
	node, err := get[*corev1.Node](ctx, c, nodes, "", pod.Spec.NodeName)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err == nil && isSimulated(node):
		return simulatedError(pod)
	}
	return err
}

// simulatedRuntime is what a simulated node (package simulated) reports as its container runtime.
const simulatedRuntime = "simulated://"

func isSimulated(node *corev1.Node) bool {
	return node.Status.NodeInfo.ContainerRuntimeVersion == simulatedRuntime
}

const (
	// defaultKubeletPort is the port of kubelets that report none.
	defaultKubeletPort = 10250
	// websocketsFeature is what a kubelet declares that speaks the newest protocols of WebSockets.
	websocketsFeature = "ExtendWebSocketsToKubelet"
)

// preferredAddresses are the types of addresses at which the server reaches kubelets, in kube-apiserver's order.
var preferredAddresses = []corev1.NodeAddressType{corev1.NodeHostName, corev1.NodeInternalDNS, corev1.NodeInternalIP,
	corev1.NodeExternalDNS, corev1.NodeExternalIP}

// kubeletAt returns the kubelet of a node, without a path.
func (c *Connector) kubeletAt(node *corev1.Node) (*target, error) {
	for _, preferred := range preferredAddresses {
		for _, address := range node.Status.Addresses {
			if address.Type != preferred {
				continue
			}
			port := int(node.Status.DaemonEndpoints.KubeletEndpoint.Port)
			if port <= 0 {
				port = defaultKubeletPort
			}
			host := net.JoinHostPort(address.Address, strconv.Itoa(port))
			return &target{url: url.URL{Scheme: "https", Host: host}, up: c.kubelet,
				websockets: slices.Contains(node.Status.DeclaredFeatures, websocketsFeature)}, nil
		}
	}
	return nil, fmt.Errorf("no preferred addresses found; known addresses: %v", node.Status.Addresses)
}

// podTarget returns the target of a proxy to a pod, which the request names as NAME, NAME:PORT or SCHEME:NAME:PORT.
// Without a port, it is the first that a container declares.
func (c *Connector) podTarget(ctx context.Context, req *request.Request, path string) (*target, error) {
	scheme, name, port, valid := utilnet.SplitSchemeNamePort(req.Name)
	if !valid {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid pod request %q", req.Name))
	}
	pod, err := get[*corev1.Pod](ctx, c, pods, req.Namespace, name)
	if err != nil {
		return nil, err
	}
	if err := c.rejectSimulated(ctx, pod); err != nil {
		return nil, err
	}
	if port == "" {
		for i := range pod.Spec.Containers {
			if ports := pod.Spec.Containers[i].Ports; len(ports) > 0 {
				port = strconv.Itoa(int(ports[0].ContainerPort))
				break
			}
		}
	}
	ip := ""
	if len(pod.Status.PodIPs) > 0 {
		ip = pod.Status.PodIPs[0].IP
	}
	if !proxyable(ip) {
		return nil, errAddress
	}
	return c.proxyTo(scheme, ip, port, path), nil
}

// nodeTarget returns the target of a proxy to a node: its kubelet, or another port.
func (c *Connector) nodeTarget(ctx context.Context, req *request.Request, path string) (*target, error) {
	scheme, name, port, valid := utilnet.SplitSchemeNamePort(req.Name)
	if !valid {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid node request %q", req.Name))
	}
	node, err := get[*corev1.Node](ctx, c, nodes, "", name)
	if err != nil {
		return nil, err
	}
	if isSimulated(node) {
		return nil, apierrors.NewBadRequest("node " + name + " is simulated: it has no kubelet and runs no containers")
	}
	to, err := c.kubeletAt(node)
	if err != nil {
		return nil, err
	}
	if err := checkHost(ctx, to.url.Hostname()); err != nil {
		return nil, err
	}
	if port != "" && port != to.url.Port() {
		return c.proxyTo(scheme, to.url.Hostname(), port, path), nil
	}
	to.up, to.websockets = c.proxiedKubelet, false
	to.url.Path = joinPath(path)
	return to, nil
}

// proxyTo returns the target of a proxy to a host. An empty scheme is HTTP; an empty port is that of the scheme.
func (c *Connector) proxyTo(scheme, host, port, path string) *target {
	if scheme == "" {
		scheme = "http"
	}
	if port != "" {
		host = net.JoinHostPort(host, port)
	} else if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return &target{url: url.URL{Scheme: scheme, Host: host, Path: joinPath(path)}, up: c.proxied}
}

// joinPath cleans the path of a proxy. Its trailing slash is kept, and an empty path stays empty.
func joinPath(path string) string {
	if path == "" {
		return ""
	}
	return utilnet.JoinPreservingTrailingSlash("/", path)
}

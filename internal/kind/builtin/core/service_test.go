package core

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	port     = `"ports":[{"port":80}]`
	balancer = `"type":"LoadBalancer",` + port
)

func spec(fields ...string) string { return `{"spec":{` + strings.Join(fields, ",") + `}}` }

// This test and the next three check the rules of ValidateService (pkg/apis/core/validation), and the checks
// of a single-stack server (pkg/registry/core/service/storage/alloc.go).
func TestServicePortRules(t *testing.T) {
	t.Parallel()
	const label = `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`
	check(t, "services", []rule{
		{name: "a port", body: spec(port)},
		{name: "no port", body: `{}`, want: []string{"spec.ports: Required value"}},
		{name: "headless without a port", body: spec(`"clusterIP":"None","selector":{"a":"b"}`)},
		{name: "an unknown type", body: spec(`"type":"Odd"`, port),
			want: []string{`spec.type: Unsupported value: "Odd": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"`}},
		{name: "two ports without names", body: spec(`"ports":[{"port":80},{"port":81,"name":"b"}]`),
			want: []string{"spec.ports[0].name: Required value"}},
		{name: "two ports of one name", body: spec(`"ports":[{"port":80,"name":"a"},{"port":81,"name":"a"}]`),
			want: []string{`spec.ports[1].name: Duplicate value: "a"`}},
		{name: "a port name that is no label", body: spec(`"ports":[{"port":80,"name":"A"}]`),
			want: []string{`spec.ports[0].name: Invalid value: "A": ` + label}},
		{name: "the same port twice", body: spec(`"ports":[{"port":80,"name":"a"},{"port":80,"name":"b"}]`),
			want: []string{`spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}`}},
		{name: "one port for two protocols",
			body: spec(`"ports":[{"port":53,"name":"a"},{"port":53,"name":"b","protocol":"UDP"}]`)},
		{name: "a port out of range", body: spec(`"ports":[{"port":65536,"targetPort":1}]`),
			want: []string{`spec.ports[0].port: Invalid value: 65536: must be between 1 and 65535, inclusive`}},
		{name: "a target port out of range", body: spec(`"ports":[{"port":1,"targetPort":65536}]`),
			want: []string{`spec.ports[0].targetPort: Invalid value: 65536: must be between 1 and 65535, inclusive`}},
		{name: "a target port with a bad name", body: spec(`"ports":[{"port":1,"targetPort":"a_b"}]`),
			want: []string{`spec.ports[0].targetPort: Invalid value: "a_b": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)`}},
		{name: "an unknown protocol", body: spec(`"ports":[{"port":1,"protocol":"ICMP"}]`),
			want: []string{`spec.ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"`}},
		{name: "an application protocol", body: spec(`"ports":[{"port":1,"appProtocol":"kubernetes.io/h2c"}]`)},
		{name: "a node port of a ClusterIP service", body: spec(`"ports":[{"port":1,"nodePort":30001}]`),
			want: []string{"spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"}},
		{name: "a bad selector", body: spec(port, `"selector":{"a":"b c"}`), want: []string{
			`spec.selector: Invalid value: "b c": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`}},
	})
}

func TestExternalNameAndAffinityRules(t *testing.T) {
	t.Parallel()
	check(t, "services", []rule{
		{name: "an external name", body: spec(`"type":"ExternalName","externalName":"example.com."`)},
		{name: "an external name that is missing", body: spec(`"type":"ExternalName"`),
			want: []string{"spec.externalName: Required value"}},
		{name: "an external name with an address",
			body: spec(`"type":"ExternalName","externalName":"a","clusterIP":"10.0.0.9","ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack"`), want: []string{
				"spec.clusterIPs: Forbidden: may not be set for ExternalName services",
				"spec.ipFamilies: Forbidden: may not be set for ExternalName services",
				"spec.ipFamilyPolicy: Forbidden: may not be set for ExternalName services"}},

		{name: "an unknown session affinity", body: spec(port, `"sessionAffinity":"Odd"`),
			want: []string{`spec.sessionAffinity: Unsupported value: "Odd": supported values: "ClientIP", "None"`}},
		{name: "an affinity of no time",
			body: spec(port, `"sessionAffinity":"ClientIP","sessionAffinityConfig":{"clientIP":{"timeoutSeconds":0}}`),
			want: []string{"spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 0: must be greater than 0 and less than 86400"}},
	})
}

func TestServiceClusterAddressRules(t *testing.T) {
	t.Parallel()
	check(t, "services", []rule{
		{name: "None for a NodePort service",
			body: spec(`"type":"NodePort","clusterIP":"None","selector":{"a":"b"}`, port),
			want: []string{`spec.clusterIPs[0]: Invalid value: "None": may not be set to 'None' for NodePort services`}},
		{name: "clusterIPs without clusterIP", body: spec(port, `"clusterIPs":["10.0.0.9"]`),
			want: []string{"spec.clusterIPs: Invalid value: [\"10.0.0.9\"]: must be empty when `clusterIP` is not specified"}},
		{name: "another first cluster IP", body: spec(port, `"clusterIP":"10.0.0.8","clusterIPs":["10.0.0.9"]`),
			want: []string{"spec.clusterIPs: Invalid value: [\"10.0.0.9\"]: first value must match `clusterIP`"}},
		{name: "a cluster IP that is none", body: spec(port, `"clusterIP":"x"`),
			want: []string{`spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`}},
		{name: "a cluster IP with leading zeroes", body: spec(port, `"clusterIP":"10.0.0.009"`),
			want: []string{`spec.clusterIPs[0]: Invalid value: "10.0.0.009": must not have leading 0s`}},
		{name: "a cluster IP out of range", body: spec(port, `"clusterIP":"10.0.1.1"`),
			want: []string{`spec.clusterIPs: Invalid value: ["10.0.1.1"]: failed to allocate IP 10.0.1.1: the provided network does not match the current range`}},
		{name: "the broadcast address", body: spec(port, `"clusterIP":"10.0.0.255"`),
			want: []string{`spec.clusterIPs: Invalid value: ["10.0.0.255"]: failed to allocate IP 10.0.0.255: the provided network does not match the current range`}},
		{name: "a cluster IP of the other family", body: spec(port, `"clusterIP":"fd00::1"`),
			want: []string{`spec.clusterIPs[0]: Invalid value: ["fd00::1"]: IPv6 is not configured on this cluster`}},
		{name: "three cluster IPs",
			body: spec(port, `"clusterIP":"10.0.0.9","clusterIPs":["10.0.0.9","10.0.0.10","10.0.0.11"]`),
			want: []string{
				`spec.clusterIPs: Invalid value: ["10.0.0.9","10.0.0.10","10.0.0.11"]: may only hold up to 2 values`,
				`spec.clusterIPs: Invalid value: ["10.0.0.9","10.0.0.10","10.0.0.11"]: may specify no more than one IP for each IP family`}},
		{name: "None and another", body: spec(port, `"clusterIP":"None","clusterIPs":["None","10.0.0.9"]`),
			want: []string{`spec.clusterIPs: Invalid value: ["None","10.0.0.9"]: 'None' must be the first and only value`}},
		{name: "an address against its family", body: spec(port, `"clusterIP":"10.0.0.9","ipFamilies":["IPv6"]`),
			want: []string{"spec.clusterIPs[0]: Invalid value: \"10.0.0.9\": expected an IPv6 value as indicated by `ipFamilies[0]`"}},
		{name: "an unknown family", body: spec(port, `"ipFamilies":["IPv5"]`),
			want: []string{`spec.ipFamilies[0]: Unsupported value: "IPv5": supported values: "IPv4", "IPv6"`}},
		{name: "a family twice", body: spec(port, `"ipFamilies":["IPv4","IPv4"]`),
			want: []string{`spec.ipFamilies[1]: Duplicate value: "IPv4"`}},
		{name: "the other family", body: spec(port, `"ipFamilies":["IPv6"]`),
			want: []string{`spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster`}},
		{name: "an unknown policy", body: spec(port, `"ipFamilyPolicy":"Odd"`),
			want: []string{`spec.ipFamilyPolicy: Unsupported value: "Odd": supported values: "PreferDualStack", "RequireDualStack", "SingleStack"`}},
		{name: "both families needed", body: spec(port, `"ipFamilyPolicy":"RequireDualStack"`),
			want: []string{`spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services`}},
		{name: "both families preferred", body: spec(port, `"ipFamilyPolicy":"PreferDualStack"`)},
		{name: "both families in one stack",
			body: spec(port, `"ipFamilyPolicy":"SingleStack","ipFamilies":["IPv4","IPv6"]`),
			want: []string{`spec.ipFamilyPolicy: Invalid value: "SingleStack": must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified`}},
	})
}

func TestServiceOutsideRules(t *testing.T) {
	t.Parallel()
	const onlyBalancer = "Forbidden: may only be used when `type` is 'LoadBalancer'"
	check(t, "services", []rule{
		{name: "an external address that is none", body: spec(port, `"externalIPs":["x"]`),
			want: []string{`spec.externalIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`}},
		{name: "special external addresses",
			body: spec(port, `"externalIPs":["0.0.0.0","127.0.0.1","169.254.0.1","224.0.0.1"]`), want: []string{
				`spec.externalIPs[0]: Invalid value: "0.0.0.0": may not be unspecified (0.0.0.0)`,
				`spec.externalIPs[1]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)`,
				`spec.externalIPs[2]: Invalid value: "169.254.0.1": may not be in the link-local range (169.254.0.0/16, fe80::/10)`,
				`spec.externalIPs[3]: Invalid value: "224.0.0.1": may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)`}},
		{name: "source ranges", body: spec(balancer, `"loadBalancerSourceRanges":[" 10.0.0.0/8 "]`)},
		{name: "a source range that is none", body: spec(balancer, `"loadBalancerSourceRanges":["x"]`),
			want: []string{`spec.LoadBalancerSourceRanges[0]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)`}},
		{name: "source ranges without a balancer", body: spec(port, `"loadBalancerSourceRanges":["10.0.0.0/8"]`),
			want: []string{"spec.LoadBalancerSourceRanges: " + onlyBalancer}},
		{name: "source ranges by annotation",
			body: `{"metadata":{"annotations":{"service.beta.kubernetes.io/load-balancer-source-ranges":"10.0.0.0/8, x"}},"spec":{` + balancer + `}}`,
			want: []string{`metadata.annotations[service.beta.kubernetes.io/load-balancer-source-ranges]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)`}},
		{name: "fields of a balancer without one",
			body: spec(port, `"allocateLoadBalancerNodePorts":true,"loadBalancerClass":"example.com/x"`),
			want: []string{"spec.allocateLoadBalancerNodePorts: " + onlyBalancer,
				"spec.loadBalancerClass: " + onlyBalancer}},
		{name: "an outside policy for a service inside", body: spec(port, `"externalTrafficPolicy":"Local"`),
			want: []string{`spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services`}},
		{name: "an unknown outside policy", body: spec(`"type":"NodePort","externalTrafficPolicy":"Odd"`, port),
			want: []string{`spec.externalTrafficPolicy: Unsupported value: "Odd": supported values: "Cluster", "Local"`}},
		{name: "a health check without need", body: spec(`"type":"NodePort","healthCheckNodePort":30001`, port),
			want: []string{"spec.healthCheckNodePort: Invalid value: 30001: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"}},
		{name: "an unknown inside policy", body: spec(port, `"internalTrafficPolicy":"Odd"`),
			want: []string{`spec.internalTrafficPolicy: Unsupported value: "Odd": supported values: "Cluster", "Local"`}},
		{name: "an unknown distribution", body: spec(port, `"trafficDistribution":"Odd"`),
			want: []string{`spec.trafficDistribution: Unsupported value: "Odd": supported values: "PreferClose", "PreferSameZone", "PreferSameNode"`}},
		{name: "two topology annotations",
			body: `{"metadata":{"annotations":{"service.kubernetes.io/topology-mode":"Auto","service.kubernetes.io/topology-aware-hints":"Off"}},"spec":{` + port + `}}`,
			want: []string{`metadata.annotations[service.kubernetes.io/topology-mode]: Invalid value: "Auto": must match annotations[service.kubernetes.io/topology-aware-hints] when both are specified`}},
	})
}

// TestServiceNodePortRules checks the rules of initNodePorts and updateNodePorts
// (pkg/registry/core/service/storage/alloc.go).
func TestServiceNodePortRules(t *testing.T) {
	t.Parallel()
	np := func(ports string) string { return spec(`"type":"NodePort"`, `"ports":[`+ports+`]`) }
	const outside = "provided port is not in the valid range. The range of valid ports is 30000-32767"
	check(t, "services", []rule{
		{name: "a node port", body: np(`{"port":80,"nodePort":30000}`)},
		{name: "below the range", body: np(`{"port":80,"nodePort":29999}`),
			want: []string{"spec.ports[0].nodePort: Invalid value: 29999: " + outside}},
		{name: "above the range", body: np(`{"port":80,"nodePort":32768}`),
			want: []string{"spec.ports[0].nodePort: Invalid value: 32768: " + outside}},
		{name: "one for two ports",
			body: np(`{"name":"a","port":80,"nodePort":30001},{"name":"b","port":81,"nodePort":30001}`),
			want: []string{"spec.ports[1].nodePort: Invalid value: 30001: provided port is already allocated"}},
		{name: "one for two protocols of one port",
			body: np(`{"name":"a","port":53,"nodePort":30001},{"name":"b","protocol":"UDP","port":53}`)},
		{name: "out of range on update", old: np(`{"port":80}`), body: np(`{"port":80,"nodePort":1}`),
			want: []string{"spec.ports[0].nodePort: Invalid value: 1: " + outside}},
		{name: "one for two ports on update", old: np(`{"port":80}`),
			body: np(`{"name":"a","port":80,"nodePort":30001},{"name":"b","port":81,"nodePort":30001}`),
			want: []string{"spec.ports[1].nodePort: Duplicate value: 30001"}},
		{name: "a health check port out of range",
			body: spec(balancer, `"externalTrafficPolicy":"Local","healthCheckNodePort":1`),
			want: []string{"<nil>: Internal error: failed to allocate requested HealthCheck NodePort 1: " + outside}},
	})
}

// TestServiceUpdateRules checks the rules of ValidateServiceUpdate and ValidateServiceStatusUpdate
// (pkg/apis/core/validation).
func TestServiceUpdateRules(t *testing.T) {
	t.Parallel()
	const fixed = "may not change once set"
	status := func(ingress string) string {
		return `{"status":{"loadBalancer":{"ingress":[` + ingress + `]}}}`
	}
	old := spec(port, `"clusterIP":"10.0.0.9"`)
	check(t, "services", []rule{
		{name: "what was sent first", old: spec(port), body: spec(port)},
		{name: "another cluster IP", old: old, body: spec(port, `"clusterIP":"10.0.0.10"`),
			want: []string{`spec.clusterIPs[0]: Invalid value: ["10.0.0.10"]: ` + fixed}},
		{name: "no cluster IP any longer", old: old, body: spec(port, `"clusterIP":"None","selector":{"a":"b"}`),
			want: []string{`spec.clusterIPs[0]: Invalid value: ["None"]: ` + fixed}},
		{name: "a cluster IP for a headless service", old: spec(port, `"clusterIP":"None","selector":{"a":"b"}`),
			body: spec(port, `"clusterIP":"10.0.0.9","selector":{"a":"b"}`),
			want: []string{`spec.clusterIPs[0]: Invalid value: ["10.0.0.9"]: ` + fixed}},
		{name: "from an address to a name", old: old,
			body: spec(`"type":"ExternalName","externalName":"example.com","clusterIP":"10.0.0.9"`)},
		{name: "from a name to an address", old: spec(`"type":"ExternalName","externalName":"example.com"`),
			body: spec(port)},
		{name: "from a name to a certain address", old: spec(`"type":"ExternalName","externalName":"example.com"`),
			body: spec(port, `"clusterIP":"10.0.0.9"`)},
		{name: "from node ports to none", old: spec(`"type":"NodePort"`, port), body: spec(port)},
		{name: "from a balancer to node ports", old: spec(balancer, `"loadBalancerClass":"example.com/x"`),
			body: spec(`"type":"NodePort","loadBalancerClass":"example.com/x"`, port)},
		{name: "another balancer class", old: spec(balancer),
			body: spec(balancer, `"loadBalancerClass":"example.com/x"`),
			want: []string{`spec.loadBalancerClass: Invalid value: "example.com/x": ` + fixed}},
		{name: "another health check port", old: spec(balancer, `"externalTrafficPolicy":"Local"`),
			body: spec(balancer, `"externalTrafficPolicy":"Local","healthCheckNodePort":30001`),
			want: []string{"spec.healthCheckNodePort: Forbidden: field is immutable"}},

		{name: "status of a balancer", sub: "status", old: spec(balancer),
			body: status(`{"ip":"1.2.3.4"},{"hostname":"example.com"}`)},
		{name: "status of a service without one", sub: "status", old: spec(port), body: status(`{"ip":"1.2.3.4"}`),
			want: []string{"status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'"}},
		{name: "status with an address that is none", sub: "status", old: spec(balancer), body: status(`{"ip":"x"}`),
			want: []string{`status.loadBalancer.ingress[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`}},
		{name: "status with an address as a name", sub: "status", old: spec(balancer),
			body: status(`{"hostname":"1.2.3.4"}`),
			want: []string{`status.loadBalancer.ingress[0].hostname: Invalid value: "1.2.3.4": must be a DNS name, not an IP address`}},
		{name: "status with a mode of no address", sub: "status", old: spec(balancer),
			body: status(`{"hostname":"a","ipMode":"VIP"}`),
			want: []string{"status.loadBalancer.ingress[0].ipMode: Forbidden: may not be specified when `ip` is not set"}},
		{name: "status with an unknown mode", sub: "status", old: spec(balancer),
			body: status(`{"ip":"1.2.3.4","ipMode":"Odd"}`),
			want: []string{`status.loadBalancer.ingress[0].ipMode: Unsupported value: "Odd": supported values: "Proxy", "VIP"`}},
	})
}

// TestServiceDefaults follows SetDefaults_Service (pkg/apis/core/v1/defaults.go).
func TestServiceDefaults(t *testing.T) {
	t.Parallel()
	k := kindsByResource()["services"]
	service := func(body string) *corev1.ServiceSpec { return &read(t, k, "", body).(*corev1.Service).Spec }

	plain := service(spec(port))
	if p := plain.Ports[0]; plain.Type != "ClusterIP" || p.Protocol != "TCP" || p.TargetPort != intstr.FromInt32(80) ||
		*plain.InternalTrafficPolicy != "Cluster" || plain.ExternalTrafficPolicy != "" {
		t.Errorf("a service with only a port has %+v", plain)
	}
	if s := service(spec(port,
		`"sessionAffinity":"ClientIP"`)); *s.SessionAffinityConfig.ClientIP.TimeoutSeconds != 10800 {
		t.Errorf("a service with session affinity has %+v", s)
	}
	if s := service(spec(port,
		`"sessionAffinityConfig":{"clientIP":{"timeoutSeconds":5}}`)); s.SessionAffinity != "None" ||
		s.SessionAffinityConfig != nil {
		t.Errorf("a service without session affinity keeps its configuration: %+v", s)
	}
	if s := service(spec(balancer)); !*s.AllocateLoadBalancerNodePorts || s.ExternalTrafficPolicy != "Cluster" {
		t.Errorf("a service of type LoadBalancer has %+v", s)
	}
	if s := service(spec(port, `"externalIPs":["1.2.3.4"]`)); s.ExternalTrafficPolicy != "Cluster" {
		t.Errorf("a service with an external IP has %+v", s)
	}
	lb := read(t, k, "",
		`{"spec":{`+balancer+`},"status":{"loadBalancer":{"ingress":[{"ip":"1.2.3.4"}]}}}`).(*corev1.Service)
	if mode := lb.Status.LoadBalancer.Ingress[0].IPMode; mode == nil || *mode != corev1.LoadBalancerIPModeVIP {
		t.Errorf("the IP mode of the load balancer is %v, want VIP", mode)
	}
}

// TestServiceWarnings follows GetWarningsForService (pkg/api/service/warnings.go).
func TestServiceWarnings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		body string
		want []string
	}{
		{spec(port), nil},
		{spec(`"clusterIP":"None","sessionAffinity":"ClientIP","loadBalancerIP":"1.2.3.4","externalIPs":["1.2.3.4"]`),
			[]string{
				"spec.loadBalancerIP is ignored for headless services",
				"spec.externalIPs is ignored for headless services",
				"spec.SessionAffinity is ignored for headless services"}},
		{spec(port, `"externalIPs":["1.2.3.4"],"externalName":"a","trafficDistribution":"PreferClose"`), []string{
			"spec.externalIPs is deprecated and may no longer be implemented in some clusters",
			`spec.externalName is ignored when spec.type is not "ExternalName"`,
			`spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"`}},
		{spec(`"type":"ExternalName","externalName":"a","externalIPs":["1.2.3.4"]`),
			[]string{`spec.externalIPs is ignored when spec.type is "ExternalName"`}},
		{`{"metadata":{"annotations":{"service.kubernetes.io/topology-aware-hints":"Auto"}}}`, []string{
			"annotation service.kubernetes.io/topology-aware-hints is deprecated, please use service.kubernetes.io/topology-mode instead"}},
	} {
		if diff := cmp.Diff(c.want, createWarnings(t, "services", c.body)); diff != "" {
			t.Errorf("warnings of %s (-want +got):\n%s", c.body, diff)
		}
	}
}

// TestExternalAddressesOfServices follows getServiceExternalIP (pkg/printers/internalversion).
func TestExternalAddressesOfServices(t *testing.T) {
	t.Parallel()
	k := kindsByResource()["services"]
	ingress := corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{Hostname: "b"}, {IP: "1.1.1.1"}}}}
	for _, c := range []struct {
		service corev1.Service
		want    string
	}{
		{corev1.Service{Spec: corev1.ServiceSpec{Type: "NodePort"}}, "<none>"},
		{corev1.Service{Spec: corev1.ServiceSpec{Type: "ClusterIP", ExternalIPs: []string{"2.2.2.2", "3.3.3.3"}}},
			"2.2.2.2,3.3.3.3"},
		{corev1.Service{Spec: corev1.ServiceSpec{Type: "LoadBalancer"}}, "<pending>"},
		{corev1.Service{Spec: corev1.ServiceSpec{Type: "LoadBalancer", ExternalIPs: []string{"0.1.2.3"}},
			Status: ingress}, "1.1.1.1,b,0.1.2.3"},
	} {
		row, err := k.Row(&c.service, "v1", time.Now())
		if err != nil || !slices.Contains(row, any(c.want)) {
			t.Errorf("row %v (%v), want a cell %s", row, err, c.want)
		}
	}
}

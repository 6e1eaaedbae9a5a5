package networking

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// rule is an object, optionally with its old state, and the expected errors.
type rule struct {
	name, body, old string
	sub             string
	want            []string
}

// check validates each object, a JSON body without kind and apiVersion, and compares the errors.
func check(t *testing.T, k kind.Kind, rules []rule) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			var old kind.Object
			if r.old != "" {
				old = read(t, k, r.old)
			}
			var got []string
			for _, e := range k.Validate(t.Context(), read(t, k, r.body), old, r.sub) {
				got = append(got, e.Error())
			}
			if diff := gocmp.Diff(r.want, got); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func read(t *testing.T, k kind.Kind, body string) kind.Object {
	t.Helper()
	return readAs(t, k, "networking.k8s.io/v1", body)
}

func readAs(t *testing.T, k kind.Kind, apiVersion, body string) kind.Object {
	t.Helper()
	obj, strict, err := k.DecodeRequest(object.Form{APIVersion: apiVersion}, []byte(body), false)
	if err != nil || len(strict) > 0 {
		t.Fatal(err, strict)
	}
	return obj
}

const (
	web       = `"service":{"name":"web","port":{"number":80}}`
	toWeb     = `"backend":{` + web + `}`
	toDefault = `"defaultBackend":{` + web + `}`
)

// subdomain is the message about a value that is not a DNS subdomain.
const subdomain = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', " +
	"and must start and end with an alphanumeric character (e.g. 'example.com', " +
	`regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`

func spec(fields ...string) string { return `{"spec":{` + strings.Join(fields, ",") + `}}` }

// paths returns a rule for a host with these paths.
func paths(host string, all ...string) string {
	return `"rules":[{"host":"` + host + `","http":{"paths":[` + strings.Join(all, ",") + `]}}]`
}

func path(pathType, p string) string {
	return `{"pathType":"` + pathType + `","path":"` + p + `",` + toWeb + `}`
}

// TestIngressPaths and the next two tests check the rules of ValidateIngressCreate
// (pkg/apis/networking/validation). The responses of a real server are in internal/golden/testdata/ingress.json.
func TestIngressPaths(t *testing.T) {
	t.Parallel()
	const at = "spec.rules[0].http.paths[0]"
	check(t, ingressKind(object.NewCache(1)), []rule{
		{name: "a default backend", body: spec(toDefault)},
		{name: "a path", body: spec(paths("example.com", path("Prefix", "/")))},
		{name: "a rule without http", body: spec(`"rules":[{"host":"example.com"}]`)},
		{name: "nothing at all", body: `{}`,
			want: []string{"spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"}},
		{name: "no paths", body: spec(paths("example.com")),
			want: []string{"spec.rules[0].http.paths: Required value"}},
		{name: "no path type", body: spec(paths("", `{"path":"/",`+toWeb+`}`)),
			want: []string{at + ".pathType: Required value: pathType must be specified"}},
		{name: "an unknown path type", body: spec(paths("", path("Regex", "/"))),
			want: []string{at +
				`.pathType: Unsupported value: "Regex": supported values: "Exact", "ImplementationSpecific", "Prefix"`}},
		{name: "no path", body: spec(paths("", path("Prefix", ""))),
			want: []string{at + `.path: Invalid value: "": must be an absolute path`}},
		{name: "no path, as the controller likes it", body: spec(paths("", path("ImplementationSpecific", "")))},
		{name: "a relative path", body: spec(paths("", path("ImplementationSpecific", "a"))),
			want: []string{at + `.path: Invalid value: "a": must be an absolute path`}},
		{name: "a path that resolves to another", body: spec(paths("", path("Exact", "/a//b/.."))), want: []string{
			at + `.path: Invalid value: "/a//b/..": must not contain '//'`,
			at + `.path: Invalid value: "/a//b/..": cannot end with '/..'`}},
		{name: "a path of the controller's own", body: spec(paths("", path("ImplementationSpecific", "/a//b/..")))},
	})
}

func TestIngressHosts(t *testing.T) {
	t.Parallel()
	check(t, ingressKind(object.NewCache(1)), []rule{
		{name: "all hosts of a domain", body: spec(paths("*.example.com", path("Prefix", "/")))},
		{name: "an address as the host", body: spec(paths("10.1.0.1", path("Prefix", "/"))),
			want: []string{`spec.rules[0].host: Invalid value: "10.1.0.1": must be a DNS name, not an IP address`}},
		{name: "an annotation of another class",
			body: `{"metadata":{"annotations":{"kubernetes.io/ingress.class":"a"}},"spec":{"ingressClassName":"b",` +
				toDefault + `}}`,
			want: []string{"annotations.kubernetes.io/ingress.class: Invalid value: \"a\": must match `ingressClassName` when both are specified"}},
	})
}

func TestIngressBackends(t *testing.T) {
	t.Parallel()
	check(t, ingressKind(object.NewCache(1)), []rule{
		{name: "no backend", body: spec(`"defaultBackend":{}`),
			want: []string{`spec.defaultBackend: Invalid value: "": resource or service backend is required`}},
		{name: "two backends", body: spec(`"defaultBackend":{` + web + `,"resource":{"kind":"K","name":"n"}}`),
			want: []string{`spec.defaultBackend: Invalid value: "": cannot set both resource and service backends`}},
		{name: "a resource",
			body: spec(`"defaultBackend":{"resource":{"apiGroup":"example.com","kind":"K","name":"n"}}`)},
		{name: "a resource of nothing", body: spec(`"defaultBackend":{"resource":{}}`),
			want: []string{"spec.defaultBackend.resource.kind: Required value",
				"spec.defaultBackend.resource.name: Required value"}},
		{name: "no service and no port", body: spec(`"defaultBackend":{"service":{}}`),
			want: []string{"spec.defaultBackend.service.name: Required value",
				"spec.defaultBackend: Required value: port name or number is required"}},
		{name: "a port by name and number",
			body: spec(`"defaultBackend":{"service":{"name":"web","port":{"name":"http","number":80}}}`),
			want: []string{`spec.defaultBackend: Invalid value: "": cannot set both port name & port number`}},
		{name: "a port out of range", body: spec(`"defaultBackend":{"service":{"name":"web","port":{"number":65536}}}`),
			want: []string{"spec.defaultBackend.service.port.number: Invalid value: 65536: must be between 1 and 65535, inclusive"}},
		{name: "a port name without a letter",
			body: spec(`"defaultBackend":{"service":{"name":"web","port":{"name":"80"}}}`),
			want: []string{`spec.defaultBackend.service.port.name: Invalid value: "80": must contain at least one letter (a-z)`}},
		{name: "a service that begins with a digit",
			body: spec(`"defaultBackend":{"service":{"name":"1web","port":{"number":80}}}`)},
		{name: "TLS without hosts or a secret", body: spec(toDefault, `"tls":[{}]`)},
	})
}

// TestIngressUpdates checks that values stored under older, weaker rules do not prevent changes of other
// fields.
func TestIngressUpdates(t *testing.T) {
	t.Parallel()
	badPath, badSecret := spec(paths("*.example.com", path("Prefix", "x"))),
		spec(toDefault, `"tls":[{"secretName":"A"}]`)
	check(t, ingressKind(object.NewCache(1)), []rule{
		{name: "a bad path of all hosts of a domain", body: badPath, old: spec(toDefault),
			want: []string{`spec.rules[0].http.paths[0].path: Invalid value: "x": must be an absolute path`}},
		{name: "a bad path that was there", body: badPath, old: badPath},
		{name: "a bad path of one host excuses none of all", body: badPath,
			old:  spec(paths("example.com", path("Prefix", "x"))),
			want: []string{`spec.rules[0].http.paths[0].path: Invalid value: "x": must be an absolute path`}},
		{name: "a bad path that was there does not excuse one of a host",
			body: spec(paths("example.com", path("Prefix", "x"))), old: badPath,
			want: []string{`spec.rules[0].http.paths[0].path: Invalid value: "x": must be an absolute path`}},
		{name: "a bad secret", body: badSecret, old: spec(toDefault),
			want: []string{`spec.tls[0].secretName: Invalid value: "A": ` + subdomain}},
		{name: "a bad secret that was there", body: badSecret, old: badSecret},
		{name: "an annotation of another class", old: spec(toDefault),
			body: `{"metadata":{"annotations":{"kubernetes.io/ingress.class":"a"}},"spec":{"ingressClassName":"b",` +
				toDefault + `}}`},
		{name: "an address in the status", sub: "status", old: spec(toDefault),
			body: `{"status":{"loadBalancer":{"ingress":[{"ip":"10.1.0.1"},{"hostname":"example.com"},{}]}}}`},
		{name: "what is no address", sub: "status", old: spec(toDefault),
			body: `{"status":{"loadBalancer":{"ingress":[{"ip":"010.1.0.1"},{"hostname":"10.1.0.1"}]}}}`,
			want: []string{
				`status.loadBalancer.ingress[0].ip: Invalid value: "010.1.0.1": must not have leading 0s`,
				`status.loadBalancer.ingress[1].hostname: Invalid value: "10.1.0.1": must be a DNS name, not an IP address`}},
		{name: "what was no address before", sub: "status",
			old:  `{"status":{"loadBalancer":{"ingress":[{"ip":"010.1.0.1"}]}}}`,
			body: `{"status":{"loadBalancer":{"ingress":[{"ip":"010.1.0.1"}]}}}`},
	})
}

func TestIngressRows(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	host := func(names ...string) (rules []networkingv1.IngressRule) {
		for _, n := range names {
			rules = append(rules, networkingv1.IngressRule{Host: n})
		}
		return rules
	}
	for name, c := range map[string]struct {
		change func(in *networkingv1.Ingress)
		column int
		want   string
	}{
		"any host":    {func(*networkingv1.Ingress) {}, 2, "*"},
		"three hosts": {func(in *networkingv1.Ingress) { in.Spec.Rules = host("a", "", "b", "c") }, 2, "a,b,c"},
		"more hosts": {func(in *networkingv1.Ingress) {
			in.Spec.Rules = host("a", "b", "c", "d", "e")
		}, 2, "a,b,c + 2 more..."},
		"no class": {func(*networkingv1.Ingress) {}, 1, "<none>"},
		"ports":    {func(*networkingv1.Ingress) {}, 4, "80"},
		"ports with TLS": {func(in *networkingv1.Ingress) {
			in.Spec.TLS = make([]networkingv1.IngressTLS, 1)
		}, 4, "80, 443"},
		"no address": {func(*networkingv1.Ingress) {}, 3, ""},
		"addresses in order, each once": {func(in *networkingv1.Ingress) {
			in.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{
				{Hostname: "b"}, {IP: "1.2.3.4", Hostname: "x"}, {Hostname: "b"},
			}
		}, 3, "1.2.3.4,b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: "i",
				CreationTimestamp: metav1.NewTime(now)}}
			c.change(in)
			if got := ingressRow(in, now)[c.column]; got != c.want {
				t.Errorf("cell %q, want %q", got, c.want)
			}
		})
	}
}

// TestIngressClassRules checks the rules of ValidateIngressClass and ValidateIngressClassUpdate
// (pkg/apis/networking/validation).
func TestIngressClassRules(t *testing.T) {
	t.Parallel()
	class := func(parameters string) string {
		return `{"spec":{"controller":"example.com/c","parameters":{"kind":"K","name":"n"` + parameters + `}}}`
	}
	const plain = `{"spec":{"controller":"example.com/c"}}`
	check(t, ingressClassKind(object.NewCache(1)), []rule{
		{name: "a controller", body: plain},
		{name: "no controller", body: `{}`, want: []string{"spec.controller: Required value"}},
		{name: "a controller of nobody", body: `{"spec":{"controller":"c"}}`,
			want: []string{`spec.controller: Invalid value: "c": must be a domain-prefixed path (such as "acme.io/foo")`}},
		{name: "a long controller", body: `{"spec":{"controller":"example.com/` + strings.Repeat("c", 238) + `"}}`},
		{name: "a controller that is too long",
			body: `{"spec":{"controller":"example.com/` + strings.Repeat("c", 239) + `"}}`,
			want: []string{"spec.controller: Too long: may not be more than 250 bytes"}},
		{name: "another controller", body: `{"spec":{"controller":"example.com/d"}}`, old: plain,
			want: []string{`spec.controller: Invalid value: "example.com/d": field is immutable`}},
		{name: "parameters", body: class("")},
		{name: "parameters are added", body: class(""), old: plain},
		{name: "parameters of nothing", body: `{"spec":{"controller":"example.com/c","parameters":{}}}`,
			want: []string{"spec.parameters.kind: Required value", "spec.parameters.name: Required value"}},
		{name: "parameters in a namespace", body: class(`,"scope":"Namespace","namespace":"default"`)},
		{name: "parameters in no namespace", body: class(`,"scope":"Namespace"`),
			want: []string{"spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'"}},
		{name: "parameters of the cluster in a namespace", body: class(`,"namespace":"default"`),
			want: []string{"spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'"}},
		{name: "missing values come last",
			body: `{"spec":{"controller":"example.com/c","parameters":{"scope":"World"}}}`,
			want: []string{
				`spec.parameters.scope: Unsupported value: "World": supported values: "Cluster", "Namespace"`,
				"spec.parameters.kind: Required value", "spec.parameters.name: Required value"}},
		{name: "an unknown scope", body: class(`,"scope":"World"`),
			want: []string{`spec.parameters.scope: Unsupported value: "World": supported values: "Cluster", "Namespace"`}},
	})
}

func TestIngressClassParametersDefaultToClusterScope(t *testing.T) {
	t.Parallel()
	k := ingressClassKind(object.NewCache(1))
	for body, want := range map[string]string{
		`{"spec":{"parameters":{}}}`:                    "Cluster",
		`{"spec":{"parameters":{"scope":"Namespace"}}}`: "Namespace",
	} {
		c := read(t, k, body).(*networkingv1.IngressClass)
		if got := *c.Spec.Parameters.Scope; got != want {
			t.Errorf("%s: scope %s, want %s", body, got, want)
		}
	}
}

// TestIngressClassWithoutDefaults validates a class as a file on disk may have it.
func TestIngressClassWithoutDefaults(t *testing.T) {
	t.Parallel()
	c := &networkingv1.IngressClass{Spec: networkingv1.IngressClassSpec{Controller: "example.com/c",
		Parameters: &networkingv1.IngressClassParametersReference{Kind: "K", Name: "n"}}}
	got := ingressClassKind(object.NewCache(1)).Validate(t.Context(), c, nil, "")
	if len(got) != 1 || got[0].Error() != "spec.parameters.scope: Required value" {
		t.Errorf("errors %q", got)
	}
}

func TestIngressWarnings(t *testing.T) {
	t.Parallel()
	k := ingressKind(object.NewCache(1))
	annotated := read(t, k, `{"metadata":{"annotations":{"kubernetes.io/ingress.class":"a"}},
		"status":{"loadBalancer":{"ingress":[{"ip":"2001:DB8::1"}]}}}`)
	for sub, want := range map[string][]string{
		"":       {`annotation "kubernetes.io/ingress.class" is deprecated, please use 'spec.ingressClassName' instead`},
		"status": {`status.loadBalancer.ingress[0]: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")`},
	} {
		if got := k.Warnings(annotated, nil, sub); !slices.Equal(got, want) {
			t.Errorf("warnings of a write of %s: %q, want %q", cmp.Or(sub, "the object"), got, want)
		}
	}
	if got := k.Warnings(annotated, annotated, ""); len(got) > 0 {
		t.Errorf("an update that changes nothing warns: %q", got)
	}
}

// TestInvalidIngressesAreBounded checks that the number of errors and warnings does not grow with the ingress, and that
// a write of the status may keep many invalid addresses.
func TestInvalidIngressesAreBounded(t *testing.T) {
	t.Parallel()
	const n = 15_000
	repeat := func(element string) string { return strings.Repeat(element+",", n-1) + element }
	k := ingressKind(object.NewCache(1 << 20))
	for name, body := range map[string]string{
		"rules":   spec(`"rules":[` + repeat(`{"host":"*"}`) + `]`),
		"paths":   spec(paths("a.b", repeat(`{"backend":{}}`))),
		"hosts":   spec(toDefault, `"tls":[{"hosts":[`+repeat(`"*"`)+`]}]`),
		"secrets": spec(toDefault, `"tls":[`+repeat(`{"secretName":"A"}`)+`]`),
	} {
		if n := len(k.Validate(t.Context(), read(t, k, body), nil, "")); n < enough || n > enough+10 {
			t.Errorf("%s: %d errors", name, n)
		}
	}
	in := &networkingv1.Ingress{}
	for i := range n {
		in.Status.LoadBalancer.Ingress = append(in.Status.LoadBalancer.Ingress,
			networkingv1.IngressLoadBalancerIngress{IP: fmt.Sprintf("010.0.%d.%d", i>>8, i&255)})
	}
	if n := len(k.Validate(t.Context(), in, &networkingv1.Ingress{}, "status")); n < enough || n > enough+10 {
		t.Errorf("status: %d errors", n)
	}
	if errs := k.Validate(t.Context(), in, in, "status"); len(errs) > 0 {
		t.Errorf("a status that changes nothing has %d errors; the first is %v", len(errs), errs[0])
	}
	if n := len(k.Warnings(in, in, "status")); n < enough || n > enough+10 {
		t.Errorf("status: %d warnings", n)
	}
}

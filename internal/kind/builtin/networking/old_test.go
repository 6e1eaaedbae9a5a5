package networking

import (
	"encoding/json"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"

	"github.com/bowline-dev/bowline/internal/object"
)

var oldIngressVersions = []string{"networking.k8s.io/v1beta1", "extensions/v1beta1"}

// TestOldIngressConversion checks the conversion of a spec to the hub and back.
func TestOldIngressConversion(t *testing.T) {
	t.Parallel()
	k := ingressKind(object.NewCache(1 << 20))
	host := func(path string) string { return `{"rules":[{"host":"a.b","http":{"paths":[` + path + `]}}]}` }
	const (
		resource = `"resource":{"apiGroup":"example.com","kind":"K","name":"n"}`
		specific = `"pathType":"ImplementationSpecific"`
	)
	for name, c := range map[string]struct {
		old, hub, back string // back is old if it is empty
	}{
		"a number": {
			old: `{"backend":{"serviceName":"web","servicePort":80}}`,
			hub: `{"defaultBackend":{"service":{"name":"web","port":{"number":80}}}}`,
		},
		"a name": {
			old: `{"backend":{"serviceName":"web","servicePort":"http"}}`,
			hub: `{"defaultBackend":{"service":{"name":"web","port":{"name":"http"}}}}`,
		},
		"a number as a string": {
			old: `{"backend":{"serviceName":"web","servicePort":"80"}}`,
			hub: `{"defaultBackend":{"service":{"name":"web","port":{"name":"80"}}}}`,
		},
		"no port": {
			old:  `{"backend":{"serviceName":"web"}}`,
			hub:  `{"defaultBackend":{"service":{"name":"web","port":{}}}}`,
			back: `{"backend":{"serviceName":"web","servicePort":0}}`,
		},
		"an empty port": {
			old:  `{"backend":{"servicePort":""}}`,
			hub:  `{"defaultBackend":{"service":{"name":"","port":{}}}}`,
			back: `{"backend":{"servicePort":0}}`,
		},
		"no backend": {
			old:  `{"backend":{}}`,
			hub:  `{"defaultBackend":{}}`,
			back: `{"backend":{"servicePort":0}}`,
		},
		"a resource": {
			old:  `{"backend":{` + resource + `}}`,
			hub:  `{"defaultBackend":{` + resource + `}}`,
			back: `{"backend":{"servicePort":0,` + resource + `}}`,
		},
		"a path without a type": {
			old:  host(`{"path":"/x","backend":{"serviceName":"web","servicePort":80}}`),
			hub:  host(`{"path":"/x",` + specific + `,"backend":{"service":{"name":"web","port":{"number":80}}}}`),
			back: host(`{"path":"/x",` + specific + `,"backend":{"serviceName":"web","servicePort":80}}`),
		},
		"a path with a type": {
			old: host(`{"path":"/x","pathType":"Exact","backend":{"serviceName":"web","servicePort":80}}`),
			hub: host(`{"path":"/x","pathType":"Exact","backend":{"service":{"name":"web","port":{"number":80}}}}`),
		},
		"the rest": {
			old: `{"ingressClassName":"c","tls":[{"hosts":["a.b"],"secretName":"s"}],"rules":[{"host":"a.b"}]}`,
			hub: `{"ingressClassName":"c","tls":[{"hosts":["a.b"],"secretName":"s"}],"rules":[{"host":"a.b"}]}`,
		},
	} {
		for _, version := range oldIngressVersions {
			obj := readAs(t, k, version, `{"metadata":{"name":"i"},"spec":`+c.old+`}`).(*networkingv1.Ingress)
			if hub, err := json.Marshal(obj.Spec); err != nil || string(hub) != c.hub {
				t.Errorf("%s in %s: %s in the hub, want %s (%v)", name, version, hub, c.hub, err)
			}
			data, err := k.Encode(object.Form{APIVersion: version, Format: object.JSON}, obj)
			var got struct {
				APIVersion, Kind string
				Spec             json.RawMessage
			}
			if err == nil {
				err = json.Unmarshal(data, &got)
			}
			want := c.back
			if want == "" {
				want = c.old
			}
			if err != nil || got.APIVersion != version || got.Kind != "Ingress" || string(got.Spec) != want {
				t.Errorf("%s comes back as %s, want %s (%v)", name, data, want, err)
			}
		}
	}
}

// TestOldIngressProtobuf checks that an object in an old version has the same content in protobuf as in JSON.
func TestOldIngressProtobuf(t *testing.T) {
	t.Parallel()
	k := ingressKind(object.NewCache(1 << 20))
	in := read(t, k, spec(toDefault, paths("a.b", path("Exact", "/x"))))
	for _, version := range oldIngressVersions {
		for _, format := range []object.Format{object.JSON, object.Protobuf} {
			form := object.Form{APIVersion: version, Format: format}
			data, err := k.Encode(form, in)
			if err != nil {
				t.Fatal(err)
			}
			got, err := k.Decode(form, data)
			if diff := gocmp.Diff(in, got); err != nil || diff != "" {
				t.Errorf("%+v (-want +got): %v\n%s", form, err, diff)
			}
		}
	}
}

func TestOldIngressStatusConversion(t *testing.T) {
	t.Parallel()
	const body = `{"metadata":{"name":"i"},"status":{"loadBalancer":{"ingress":[{"ip":"10.0.0.1","hostname":"a.b",` +
		`"ports":[{"port":80,"protocol":"TCP","error":"E"}]}]}}}`
	k := ingressKind(object.NewCache(1 << 20))
	want := read(t, k, body).(*networkingv1.Ingress)
	for _, version := range oldIngressVersions {
		got := readAs(t, k, version, body).(*networkingv1.Ingress)
		if diff := gocmp.Diff(want.Status, got.Status); diff != "" {
			t.Errorf("%s (-want +got):\n%s", version, diff)
		}
		old, err := k.Convert(want, version)
		if err != nil {
			t.Fatal(err)
		}
		back, err := k.Convert(old, "networking.k8s.io/v1")
		if diff := gocmp.Diff(want, back); err != nil || diff != "" {
			t.Errorf("%s and back (-want +got): %v\n%s", version, err, diff)
		}
	}
}

// TestOldIngressRules checks what Kubernetes 1.21 did differently for old versions: the names of fields in errors, and
// the values that are accepted.
func TestOldIngressRules(t *testing.T) {
	t.Parallel()
	k := ingressKind(object.NewCache(1))
	for _, version := range oldIngressVersions {
		for body, want := range map[string][]string{
			`{}`: {"spec: Invalid value: null: either `backend` or `rules` must be specified"},
			`{"spec":{"backend":{"servicePort":65536}}}`: {"spec.backend.serviceName: Required value",
				"spec.backend.servicePort: Invalid value: 65536: must be between 1 and 65535, inclusive"},
			`{"spec":{"backend":{"serviceName":"web","servicePort":"80"}}}`: {
				`spec.backend.servicePort: Invalid value: "80": must contain at least one letter (a-z)`},
			`{"spec":{"backend":{"serviceName":"web","servicePort":80},"tls":[{"secretName":"A"}]}}`: nil,
			`{"spec":{"rules":[{"host":"*.example.com","http":{"paths":[]}}]}}`:                      nil,
			`{"spec":{"rules":[{"host":"example.com","http":{"paths":[{"backend":{}}]}}]}}`: {
				`spec.rules[0].http.paths[0].backend: Invalid value: "": resource or service backend is required`},
		} {
			var got []string
			for _, e := range k.Validate(t.Context(), readAs(t, k, version, body), nil, "") {
				got = append(got, e.Error())
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s in %s: %q, want %q", body, version, got, want)
			}
		}
	}
}

// protobuf is the encoding of the API structs.
type protobuf interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// TestOldVersionsShareStructs checks that the structs of different versions that Bowline decodes into the same struct
// have the same JSON and protobuf.
func TestOldVersionsShareStructs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		body      string
		own, used protobuf
	}{
		{`{"metadata":{"name":"i","creationTimestamp":null},"spec":{"ingressClassName":"c",` +
			`"backend":{"serviceName":"web","servicePort":"http"},"tls":[{"hosts":["a.b"],"secretName":"s"}],` +
			`"rules":[{"host":"a.b","http":{"paths":[{"path":"/x","pathType":"Exact",` +
			`"backend":{"servicePort":0,"resource":{"apiGroup":"g","kind":"K","name":"n"}}}]}}]},` +
			`"status":{"loadBalancer":{"ingress":[{"ip":"1.2.3.4","hostname":"a",` +
			`"ports":[{"port":1,"protocol":"TCP","error":"E"}]}]}}}`,
			&extensionsv1beta1.Ingress{}, &networkingv1beta1.Ingress{}},
		{`{"metadata":{"name":"c","creationTimestamp":null},"spec":{"controller":"a/b",` +
			`"parameters":{"apiGroup":"g","kind":"K","name":"n","scope":"Namespace","namespace":"s"}}}`,
			&networkingv1beta1.IngressClass{}, &networkingv1.IngressClass{}},
		{`{"metadata":{"name":"p","creationTimestamp":null},"spec":{"podSelector":{"matchLabels":{"a":"b"}},` +
			`"ingress":[{"ports":[{"protocol":"TCP","port":80,"endPort":81}],"from":[{"podSelector":{},` +
			`"namespaceSelector":{},"ipBlock":{"cidr":"c","except":["d"]}}]}],` +
			`"egress":[{"ports":[{"port":"http"}],"to":[{}]}],"policyTypes":["Egress"]}}`,
			&extensionsv1beta1.NetworkPolicy{}, &networkingv1.NetworkPolicy{}},
	} {
		if err := json.Unmarshal([]byte(c.body), c.own); err != nil {
			t.Fatal(err)
		}
		data, err := c.own.Marshal()
		if err == nil {
			err = c.used.Unmarshal(data)
		}
		if err != nil {
			t.Fatal(err)
		}
		own, _ := json.Marshal(c.own)
		used, _ := json.Marshal(c.used)
		if diff := gocmp.Diff(string(own), string(used)); diff != "" {
			t.Errorf("%T (-its own struct +the used struct):\n%s", c.own, diff)
		}
	}
}

// TestDeprecationWarnings checks the warnings of Kubernetes 1.21 (1.15 for network policies), with its mistake for
// ingress classes.
func TestDeprecationWarnings(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"networking.k8s.io/v1beta1 Ingress": "is deprecated in v1.19+, unavailable in v1.22+; " +
			"use networking.k8s.io/v1 Ingress",
		"networking.k8s.io/v1beta1 IngressClass": "is deprecated in v1.19+, unavailable in v1.22+; " +
			"use networking.k8s.io/v1 IngressClassList",
		"extensions/v1beta1 Ingress": "is deprecated in v1.14+, unavailable in v1.22+; " +
			"use networking.k8s.io/v1 Ingress",
		"extensions/v1beta1 NetworkPolicy": "is deprecated in v1.9+, unavailable in v1.16+; " +
			"use networking.k8s.io/v1 NetworkPolicy",
	}
	for _, k := range Kinds(object.NewCache(1)) {
		for i, e := range k.Info().Endpoints {
			name := e.APIVersion() + " " + k.Info().Kind
			switch text, old := want[name]; {
			case i == 0 && e.Deprecated != "":
				t.Errorf("%s: the hub is deprecated: %q", name, e.Deprecated)
			case i > 0 && (!old || e.Deprecated != name+" "+text):
				t.Errorf("%s: %q, want %q", name, e.Deprecated, name+" "+text)
			}
			delete(want, name)
		}
	}
	if len(want) > 0 {
		t.Errorf("not served: %v", want)
	}
}

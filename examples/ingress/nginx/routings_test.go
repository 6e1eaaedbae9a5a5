package nginx

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// routings lists declarations and the resulting routings.
var routings = []struct {
	name      string
	given     given
	ingresses []ingress
	want      string
	problems  map[string]string
}{
	{name: "nothing", want: "[]\n"},
	{
		name:      "a prefix is the path and all below it",
		ingresses: []ingress{newIngress("a").prefix("h.com", "/x", "s")},
		want:      "[]\n[h.com]\n=/x s.80\n/x/ s.80\n",
	},
	{
		name: "a slash at the end of a prefix says nothing",
		ingresses: []ingress{newIngress("a").prefix("h.com", "/x/", "s"),
			newIngress("b").prefix("h.com", "/x", "t").since(1)},
		want:     "[]\n[h.com]\n=/x s.80\n/x/ s.80\n",
		problems: map[string]string{"b": reasonConflict},
	},
	{
		name: "exact wins over prefix",
		ingresses: []ingress{newIngress("a").prefix("h.com", "/x", "s").exact("h.com", "/x", "t").exact("h.com", "/x/",
			"u")},
		want: "[]\n[h.com]\n=/x t.80\n=/x/ u.80\n/x/ s.80\n",
	},
	{
		name: "the older of two Ingresses wins, whatever their names",
		ingresses: []ingress{
			newIngress("a").exact("h.com", "/", "young").since(2), newIngress("z").exact("h.com", "/", "old").since(1),
		},
		want:     "[]\n[h.com]\n=/ old.80\n",
		problems: map[string]string{"a": reasonConflict},
	},
	{
		name:      "implementation-specific is a prefix, and empty is all",
		ingresses: []ingress{newIngress("a").path("h.com", networkingv1.PathTypeImplementationSpecific, "", "s")},
		want:      "[]\n[h.com]\n/ s.80\n",
	},
	{
		name:      "an escaped path is the one that it stands for",
		ingresses: []ingress{newIngress("a").exact("h.com", "/a%20b", "s").exact("h.com", "/50%", "t")},
		want:      "[]\n[h.com]\n=/50% t.80\n=/a b s.80\n",
	},
	{
		name: "the default backend has what no path of its hosts matches",
		ingresses: []ingress{newIngress("a").prefix("h.com", "/x", "s").otherwise("d"),
			newIngress("b").prefix("i.com", "/", "t")},
		want: "[]\n[h.com]\n/ d.80\n=/x s.80\n/x/ s.80\n[i.com]\n/ t.80\n",
	},
	{
		name:      "that of an Ingress without rules has what nobody else has",
		ingresses: []ingress{newIngress("a").otherwise("d"), newIngress("b").exact("i.com", "/x", "t")},
		want:      "[]\n/ d.80\n[i.com]\n/ d.80\n=/x t.80\n",
	},
	{
		name:      "the older default backend wins",
		ingresses: []ingress{newIngress("a").otherwise("d").since(1), newIngress("b").otherwise("e")},
		want:      "[]\n/ e.80\n",
		problems:  map[string]string{"a": reasonConflict},
	},
	{
		name: "a rule without paths leaves its host to the default backend",
		ingresses: []ingress{{&networkingv1.Ingress{ObjectMeta: meta("a"), Spec: networkingv1.IngressSpec{
			Rules: []networkingv1.IngressRule{{Host: "h.com"}}, DefaultBackend: pointer(toService("d")),
		}}}},
		want: "[]\n[h.com]\n/ d.80\n",
	},
	{
		name:      "no endpoint: the route is there, without a backend",
		given:     given{slices: map[string][]*discoveryv1.EndpointSlice{"s": nil}},
		ingresses: []ingress{newIngress("a").prefix("h.com", "/", "s")},
		want:      "[]\n[h.com]\n/ \n",
	},
	{
		name:      "no service",
		given:     given{services: map[string]*corev1.Service{"s": nil}},
		ingresses: []ingress{newIngress("a").prefix("h.com", "/", "s").prefix("h.com", "/t", "t")},
		want:      "[]\n[h.com]\n/ \n=/t t.80\n/t/ t.80\n",
		problems:  map[string]string{"a": reasonServiceNotFound},
	},
	{
		name: "backends that are no services",
		given: given{services: map[string]*corev1.Service{
			"away": {ObjectMeta: meta("away"), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName}},
		}},
		ingresses: []ingress{
			newIngress("a").prefix("h.com", "/", "away"),
			{&networkingv1.Ingress{ObjectMeta: meta("b"), Spec: networkingv1.IngressSpec{
				DefaultBackend: &networkingv1.IngressBackend{Resource: &corev1.TypedLocalObjectReference{Kind: "Bucket",
					Name: "b"}},
			}}},
		},
		want:     "[]\n/ \n[h.com]\n/ \n",
		problems: map[string]string{"a": reasonUnsupportedBackend, "b": reasonUnsupportedBackend},
	},
	{
		name: "the longest path that nginx can tell from others, and one that it cannot",
		ingresses: []ingress{
			newIngress("a").exact("h.com", "/"+strings.Repeat("a", 254), "s"),
			newIngress("b").prefix("h.com", "/"+strings.Repeat("b", 254), "s"),
		},
		want:     "[]\n[h.com]\n=/" + strings.Repeat("a", 254) + " s.80\n",
		problems: map[string]string{"b": reasonPathTooLong},
	},
	{
		name:  "certificates are for the hosts that are named, or else for the Ingress's",
		given: given{files: map[string]string{"one": "1", "two": "2", "any": "any"}},
		ingresses: []ingress{
			newIngress("a").prefix("h.com", "/", "s").prefix("i.com", "/", "s").tls("one", "h.com"),
			newIngress("b").prefix("j.com", "/", "s").tls("two"),
			newIngress("c").prefix("k.com", "/", "s").tls("none"),
		},
		want:     "[]\n[h.com]+1\n/ s.80\n[i.com]\n/ s.80\n[j.com]+2\n/ s.80\n[k.com]\n/ s.80\n",
		problems: map[string]string{"c": reasonCertificateNotFound},
	},
	{
		name:  "a certificate for a wildcard is for the hosts below it, and a host without rules is served as all are",
		given: given{files: map[string]string{"wild": "w", "all": "a", "other": "o"}},
		ingresses: []ingress{
			newIngress("a").prefix("x.h.com", "/", "s").tls("wild", "*.h.com"),
			newIngress("b").prefix("", "/", "t").tls("all"),
			newIngress("c").tls("other", "*.h.com").since(9),
		},
		want:     "[]+a\n/ t.80\n[*.h.com]+w\n/ t.80\n[x.h.com]+w\n/ s.80\n",
		problems: map[string]string{"c": reasonConflict},
	},
	{
		name:  "a certificate without a host is for no host that somebody names",
		given: given{files: map[string]string{"all": "a"}},
		ingresses: []ingress{
			newIngress("a").prefix("", "/", "t").tls("all"), newIngress("b").prefix("h.com", "/", "s"),
		},
		want: "[]+a\n/ t.80\n[h.com]\n/ s.80\n",
	},
	{
		name: "paths that no request has",
		ingresses: []ingress{
			newIngress("a").path("h.com", networkingv1.PathTypeImplementationSpecific, "//", "s").prefix("h.com", "/t",
				"t"),
			newIngress("b").path("h.com", networkingv1.PathTypeImplementationSpecific, "/..", "s"),
			newIngress("c").path("h.com", networkingv1.PathTypeImplementationSpecific, "/x/./y", "s"),
			newIngress("d").prefix("h.com", "/x/%2e%2e/y", "s"),
			newIngress("e").prefix("h.com", "/...", "s"),
		},
		want: "[]\n[h.com]\n=/... s.80\n/.../ s.80\n=/t t.80\n/t/ t.80\n",
		problems: map[string]string{
			"a": reasonPathUnreachable, "b": reasonPathUnreachable, "c": reasonPathUnreachable,
			"d": reasonPathUnreachable,
		},
	},
	{
		name:      "TLS without a Secret",
		ingresses: []ingress{newIngress("a").prefix("h.com", "/", "s").tls("", "h.com")},
		want:      "[]\n[h.com]\n/ s.80\n",
		problems:  map[string]string{"a": reasonCertificateNotFound},
	},
	{
		name:      "a path that is declared twice",
		ingresses: []ingress{newIngress("a").prefix("h.com", "/", "s").prefix("h.com", "/", "t")},
		want:      "[]\n[h.com]\n/ s.80\n",
		problems:  map[string]string{"a": reasonConflict},
	},
	{
		name:  "a host that is only secured has the rules of its wildcard",
		given: given{files: map[string]string{"one": "1"}},
		ingresses: []ingress{
			newIngress("a").prefix("*.h.com", "/", "s").tls("one", "x.h.com"), newIngress("b").prefix("", "/", "t"),
			newIngress("c").tls("one", "x.i.com"),
		},
		want: "[]\n/ t.80\n[*.h.com]\n/ s.80\n[x.h.com]+1\n/ s.80\n[x.i.com]+1\n/ t.80\n",
	},
}

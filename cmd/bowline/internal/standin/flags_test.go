package standin

import (
	"io"
	"strings"
	"testing"
)

// TestUnsupportedFlagValuesAreRejected checks that a flag is rejected if bowline cannot do what it asks for.
func TestUnsupportedFlagValuesAreRejected(t *testing.T) {
	t.Parallel()
	for flag, refusal := range map[string]string{
		"--authorization-mode=RBAC":               "",
		"--authorization-mode=Node,RBAC":          "",
		"--authorization-mode=AlwaysAllow":        "bowline supports only RBAC or Node",
		"--authorization-mode=Webhook,RBAC":       "bowline supports only RBAC or Node",
		"--service-cluster-ip-range=10.0.0.0/24":  "",
		"--service-cluster-ip-range=10.96.0.0/12": "bowline supports only 10.0.0.0/24",
		"--profiling":                                     "",
		"--profiling=false":                               "bowline supports only true (administrators",
		"--allow-privileged":                              "",
		"--allow-privileged=true":                         "",
		"--allow-privileged=false":                        "bowline supports only true",
		"--anonymous-auth=false":                          "bowline supports only true",
		"--disable-admission-plugins=ServiceAccount":      "",
		"--disable-admission-plugins=":                    "",
		"--disable-admission-plugins=Priority":            "",
		"--enable-admission-plugins=AlwaysPullImages":     "",
		"--enable-admission-plugins=NamespaceLifecycle":   "",
		"--enable-admission-plugins=PodGroupProtection":   "",
		"--enable-admission-plugins=NoSuchPlugin":         "bowline has no admission plugin NoSuchPlugin",
		"--feature-gates=A=false,B=false":                 "",
		"--feature-gates=A=false,MutableCSI=true":         "cannot turn on MutableCSI",
		"--feature-gates=A":                               `invalid value "A": must be NAME=true`,
		"--runtime-config=api/all=true":                   "",
		"--runtime-config=apps/v1=true,v1,api/v1=true":    "",
		"--runtime-config=apps/v1/deployments=true":       "",
		"--runtime-config=apps/v1/boats=true":             "bowline does not serve apps/v1/boats",
		"--runtime-config=settings.k8s.io/v1alpha1=true":  "bowline does not serve settings.k8s.io/v1alpha1",
		"--runtime-config=settings.k8s.io/v1alpha1=false": "",
		"--runtime-config=apps/v1=false":                  "",
		"--runtime-config=apps/v1/boats=false":            "",
		"--runtime-config=api/beta=false,api/all=true":    "",
		"--runtime-config=api/beta=off":                   "invalid value api/beta=off: must be true or false",
		"--runtime-config=apps=false":                     `invalid key "apps": must be GROUP/VERSION`,
		"--service-account-issuer=https://x/":             "",
		"--watch-cache=false":                             "",
		"--v=2":                                           "",
		"--encryption-provider-config=f":                  "objects are not encrypted",
		"--audit-policy-file=f":                           "there is no audit log",
		"--oidc-issuer-url=https://x":                     "client certificates only",
		"--authorization-config=f":                        "only roles authorize",
		"--tls-min-version=VersionTLS13":                  "accepts TLS 1.2 and 1.3",
		"--insecure-port=0":                               "",
		"--insecure-port=8080":                            "bowline supports only 0 (the server only uses TLS)",
		"--no-such-thing":                                 "unknown flag: --no-such-thing",
		"argument":                                        `takes no arguments, got "argument"`,
		"":                                                "", // an empty argument, as produced by a flag template
	} {
		var s apiServer
		done, err := parse(s.flags(io.Discard), []string{flag})
		if refusal == "" && (done || err != nil) {
			t.Errorf("%s: got error %v, done %t; want the flag accepted", flag, err, done)
		}
		if refusal != "" && (err == nil || !done || !strings.Contains(err.Error(), refusal)) {
			t.Errorf("%s: got error %v, want %s", flag, err, refusal)
		}
	}
}

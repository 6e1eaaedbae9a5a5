package builtin

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
)

// clientAuthority is the key of the certificates that verify clients.
const clientAuthority = "client-ca-file"

// DelegatedAuthentication returns the ConfigMap from which aggregated API servers learn whom to believe: the
// certificates that verify clients, which may be empty, and those that verify the front proxy, which sends the users of
// its requests in headers. An existing one is updated; keys that Kubernetes does not know are left alone.
func DelegatedAuthentication(clients, frontProxy []byte) kind.Initial {
	data := map[string]string{
		"requestheader-client-ca-file":       string(frontProxy),
		"requestheader-allowed-names":        `["front-proxy-client"]`,
		"requestheader-username-headers":     `["X-Remote-User"]`,
		"requestheader-uid-headers":          `["X-Remote-Uid"]`,
		"requestheader-group-headers":        `["X-Remote-Group"]`,
		"requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
	}
	if len(clients) > 0 {
		data[clientAuthority] = string(clients)
	}
	return kind.Initial{
		Object: &corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"},
			ObjectMeta: metav1.ObjectMeta{
				Name: "extension-apiserver-authentication", Namespace: metav1.NamespaceSystem,
			},
			Data: data,
		},
		Correct: func(stored kind.Object) bool {
			config := stored.(*corev1.ConfigMap)
			before := maps.Clone(config.Data)
			if config.Data == nil {
				config.Data = map[string]string{}
			}
			delete(config.Data, clientAuthority) // of an earlier start
			maps.Copy(config.Data, data)
			return !maps.Equal(before, config.Data)
		},
	}
}

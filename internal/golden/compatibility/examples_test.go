package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"testing"

	"github.com/bowline-dev/bowline/internal/auth/pki"
)

const pod = `"spec":{"containers":[{"name":"c","image":"i"}]}`

// examples contains an object of each resource, without its name.
var examples = map[string]string{
	"configmaps":             `"data":{"a":"b"}`,
	"endpoints":              `"subsets":[]`,
	"events":                 `"involvedObject":{"namespace":"default"}`,
	"namespaces":             `"spec":{}`,
	"nodes":                  `"spec":{}`,
	"persistentvolumeclaims": `"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}`,
	"pods":                   pod,
	"podtemplates":           `"template":{` + pod + `}`,
	"replicationcontrollers": `"spec":{"template":{"metadata":{"labels":{"a":"b"}},` + pod + `}}`,
	"resourcequotas":         `"spec":{"hard":{"pods":"1"}}`,
	"secrets":                `"stringData":{"a":"b"}`,
	"serviceaccounts":        `"automountServiceAccountToken":false`,
	"services":               `"spec":{"ports":[{"port":80}]}`,

	"initializerconfigurations.admissionregistration.k8s.io":       `"initializers":[]`,
	"mutatingwebhookconfigurations.admissionregistration.k8s.io":   webhooks,
	"validatingwebhookconfigurations.admissionregistration.k8s.io": webhooks,
	"customresourcedefinitions.apiextensions.k8s.io": `"spec":{"group":"example.com","scope":"Namespaced",
		"names":{"plural":"widgets","singular":"widget","kind":"Widget"},
		"versions":[{"name":"v1","served":true,"storage":true,
			"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}},
			"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}}}]}`,
	"apiservices.apiregistration.k8s.io": `"spec":{"group":"gadgets.example.com","version":"v1",
		"groupPriorityMinimum":1000,"versionPriority":10}`,
	"controllerrevisions.apps":        `"revision":1,"data":{"a":"b"}`,
	"daemonsets.apps":                 workload,
	"deployments.apps":                workload,
	"replicasets.apps":                workload,
	"statefulsets.apps":               workload,
	"jobs.batch":                      job,
	"cronjobs.batch":                  `"spec":{"schedule":"* * * * *","jobTemplate":{` + job + `}}`,
	"leases.coordination.k8s.io":      `"spec":{}`,
	"daemonsets.extensions":           workload,
	"deployments.extensions":          workload,
	"replicasets.extensions":          workload,
	"endpointslices.discovery.k8s.io": `"addressType":"IPv4","endpoints":[]`,
	"events.events.k8s.io": `"regarding":{"namespace":"default"},"eventTime":"2026-01-01T00:00:00.000000Z",
		"reportingController":"c","reportingInstance":"i","action":"a","reason":"r","type":"Normal"`,
	"ingressclasses.networking.k8s.io": `"spec":{"controller":"example.com/c"}`,
	"ingresses.networking.k8s.io": `"spec":{"defaultBackend":{"service":{"name":"s","port":{"number":80}}},
		"backend":{"serviceName":"s","servicePort":80}}`, // of v1, and of v1beta1
	"poddisruptionbudgets.policy":       `"spec":{"minAvailable":1}`,
	"priorityclasses.scheduling.k8s.io": `"value":1`,
	"widgets.example.com":               `"spec":{"replicas":1}`,
	"bindings":                          `"target":{"name":"node"}`,
	"limitranges":                       `"spec":{"limits":[{"type":"PersistentVolumeClaim","max":{"storage":"9Gi"}}]}`,
	"persistentvolumes":                 `"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/a"}}`,

	"mutatingadmissionpolicies.admissionregistration.k8s.io": `"spec":{` + matchPods + `,"reinvocationPolicy":"Never",
		"mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: \"test\", path: \"/kind\", value: \"Pod\"}]"}}]}`,
	"mutatingadmissionpolicybindings.admissionregistration.k8s.io": `"spec":{"policyName":"example"}`,
	"validatingadmissionpolicies.admissionregistration.k8s.io": `"spec":{` + matchPods + `,
		"validations":[{"expression":"true"}]}`,
	"validatingadmissionpolicybindings.admissionregistration.k8s.io": `"spec":{"policyName":"example",
		"validationActions":["Deny"]}`,

	"tokenreviews.authentication.k8s.io":             `"spec":{"token":"t"}`,
	"selfsubjectreviews.authentication.k8s.io":       `"status":{}`,
	"subjectaccessreviews.authorization.k8s.io":      `"spec":{"user":"u",` + action + `}`,
	"localsubjectaccessreviews.authorization.k8s.io": `"spec":{"user":"u",` + action + `}`,
	"selfsubjectaccessreviews.authorization.k8s.io":  `"spec":{` + action + `}`,
	"selfsubjectrulesreviews.authorization.k8s.io":   `"spec":{"namespace":"default"}`,

	"horizontalpodautoscalers.autoscaling": `"spec":{"maxReplicas":1,
		"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"example"}}`,
	"flowschemas.flowcontrol.apiserver.k8s.io": `"spec":{"priorityLevelConfiguration":{"name":"a"}}`,
	"prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": `"spec":{"type":"Limited",
		"limited":{"limitResponse":{"type":"Reject"}}}`,
	"ingresses.extensions":              `"spec":{"backend":{"serviceName":"s","servicePort":80}}`,
	"networkpolicies.extensions":        `"spec":{"podSelector":{}}`,
	"ipaddresses.networking.k8s.io":     `"spec":{"parentRef":{"resource":"services","namespace":"default","name":"s"}}`,
	"networkpolicies.networking.k8s.io": `"spec":{"podSelector":{}}`,
	"servicecidrs.networking.k8s.io":    `"spec":{"cidrs":["10.1.0.0/24"]}`,
	"runtimeclasses.node.k8s.io":        `"handler":"runc"`,

	"clusterroles.rbac.authorization.k8s.io": `"rules":[]`,
	"roles.rbac.authorization.k8s.io":        `"rules":[]`,
	"clusterrolebindings.rbac.authorization.k8s.io": `"roleRef":{"apiGroup":"rbac.authorization.k8s.io",
		"kind":"ClusterRole","name":"example"}`,
	"rolebindings.rbac.authorization.k8s.io": `"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role",
		"name":"example"}`,

	"deviceclasses.resource.k8s.io":          `"spec":{}`,
	"devicetaintrules.resource.k8s.io":       `"spec":{"taint":{"key":"example.com/a","effect":"NoSchedule"}}`,
	"resourceclaims.resource.k8s.io":         `"spec":{"devices":{}}`,
	"resourceclaimtemplates.resource.k8s.io": `"spec":{"spec":{"devices":{}}}`,
	"resourceslices.resource.k8s.io": `"spec":{"driver":"a.example.com","nodeName":"n","pool":{"name":"p",
		"resourceSliceCount":1}}`,

	"csidrivers.storage.k8s.io":                        `"spec":{}`,
	"csinodes.storage.k8s.io":                          `"spec":{"drivers":[]}`,
	"csistoragecapacities.storage.k8s.io":              `"storageClassName":"c"`,
	"storageclasses.storage.k8s.io":                    `"provisioner":"example.com/p"`,
	"volumeattachments.storage.k8s.io":                 `"spec":{"attacher":"a","nodeName":"n","source":{"persistentVolumeName":"v"}}`,
	"volumeattributesclasses.storage.k8s.io":           `"driverName":"a.example.com","parameters":{"a":"b"}`,
	"storageversionmigrations.storagemigration.k8s.io": `"spec":{"resource":{"group":"apps","resource":"deployments"}}`,
}

// keys contains the functions that generate the examples with cryptographic keys.
var keys = map[string]func(*testing.T) string{
	"certificatesigningrequests.certificates.k8s.io": func(t *testing.T) string {
		return `"spec":{"signerName":"example.com/s","usages":["client auth"],"request":"` +
			base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST",
				Bytes: request(t)})) + `"}`
	},
	"podcertificaterequests.certificates.k8s.io": func(t *testing.T) string {
		return `"spec":{"signerName":"example.com/s","podName":"p","podUID":"1","serviceAccountName":"s",
			"serviceAccountUID":"2","nodeName":"n","nodeUID":"3","stubPKCS10Request":"` +
			base64.StdEncoding.EncodeToString(request(t)) + `"}`
	},
	"clustertrustbundles.certificates.k8s.io": func(t *testing.T) string {
		authority, err := pki.New([]string{"localhost"})
		if err != nil {
			t.Fatal(err)
		}
		bundle, err := json.Marshal(string(authority.AuthorityPEM()))
		if err != nil {
			t.Fatal(err)
		}
		return `"spec":{"trustBundle":` + string(bundle) + `}`
	},
}

// request returns a certificate request in DER.
func request(t *testing.T) []byte {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.CertificateRequest{Subject: pkix.Name{CommonName: "user"}}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// names contains the names of the examples that cannot be called "example".
var names = map[string]string{
	"apiservices": "v1.gadgets.example.com", "customresourcedefinitions": "widgets.example.com", "ipaddresses": "10.0.0.9",
	"componentstatuses": "etcd-0",
}

const matchPods = `"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],
	"resources":["pods"]}]}`

const action = `"resourceAttributes":{"namespace":"default","verb":"get","resource":"pods"}`

const webhooks = `"webhooks":[{"name":"a.example.com","clientConfig":{"url":"https://example.com"},"sideEffects":"None","admissionReviewVersions":["v1"]}]`

const workload = `"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},` + pod +
	`}}`

const job = `"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}`

// bodies contains the request bodies for creating subresources.
var bodies = map[string]string{
	"binding":  `{"metadata":{"name":"example"},"target":{"name":"node"}}`,
	"rollback": `{"name":"example","rollbackTo":{"revision":0}}`,
	"eviction": `{"metadata":{"name":"example"}}`,
	"token":    `{}`,
}

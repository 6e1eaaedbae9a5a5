package main

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// doomed is the name of the namespace that is deleted.
const doomed = "doomed"

// Parts of the specs of workloads, none of which runs a pod.
const (
	template = `"template":{"metadata":{"labels":{"app":"x"}},"spec":{"containers":[{"name":"c","image":"i"}]}}`
	labelled = `"selector":{"matchLabels":{"app":"x"}},` + template
	once     = `"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}`
)

// content is a kind of object in the namespace; rest is the object without its name.
type content struct{ version, resource, kind, rest string }

// contents lists the kinds. Custom resources have their own content.
var contents = []content{
	{"v1", "configmaps", "ConfigMap", `{"data":{"key":"value"}}`},
	{"v1", "events", "Event",
		`{"involvedObject":{"namespace":"doomed","name":"x"},"reason":"Because","type":"Normal"}`},
	{"v1", "persistentvolumeclaims", "PersistentVolumeClaim",
		`{"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`},
	{"v1", "podtemplates", "PodTemplate", `{` + template + `}`},
	{"v1", "pods", "Pod", `{"spec":{"containers":[{"name":"c","image":"i"}]}}`},
	{"v1", "replicationcontrollers", "ReplicationController",
		`{"spec":{"replicas":0,"selector":{"app":"x"},` + template + `}}`},
	{"v1", "secrets", "Secret", `{"stringData":{"key":"value"}}`},
	{"v1", "serviceaccounts", "ServiceAccount", `{}`},
	{"v1", "services", "Service", `{"spec":{"clusterIP":"None"}}`},
	{"apps/v1", "controllerrevisions", "ControllerRevision", `{"revision":1,"data":{}}`},
	{"apps/v1", "daemonsets", "DaemonSet", `{"spec":{` + labelled + `}}`},
	{"apps/v1", "deployments", "Deployment", `{"spec":{"replicas":0,` + labelled + `}}`},
	{"apps/v1", "replicasets", "ReplicaSet", `{"spec":{"replicas":0,` + labelled + `}}`},
	{"apps/v1", "statefulsets", "StatefulSet", `{"spec":{"replicas":0,"serviceName":"x",` + labelled + `}}`},
	{"batch/v1", "cronjobs", "CronJob",
		`{"spec":{"schedule":"0 0 1 1 *","suspend":true,"jobTemplate":{"spec":{` + once + `}}}}`},
	{"batch/v1", "jobs", "Job", `{"spec":{"suspend":true,` + once + `}}`},
	{"coordination.k8s.io/v1", "leases", "Lease", `{}`},
	{"discovery.k8s.io/v1", "endpointslices", "EndpointSlice", `{"addressType":"IPv4","endpoints":[]}`},
	{"networking.k8s.io/v1", "ingresses", "Ingress",
		`{"spec":{"defaultBackend":{"service":{"name":"x","port":{"number":80}}}}}`},
	{hitches.GroupVersion().String(), hitches.Resource, "Hitch", ""},
}

// createContent creates the i-th object in the namespace.
func createContent(ctx context.Context, dyn dynamic.Interface, i int) error {
	c := contents[i%len(contents)]
	version, err := schema.ParseGroupVersion(c.version)
	if err != nil {
		return err
	}
	obj := &unstructured.Unstructured{}
	if c.rest == "" {
		obj = hitch(i)
	} else if err := json.Unmarshal([]byte(c.rest), &obj.Object); err != nil {
		return fmt.Errorf("%s: %w", c.kind, err)
	}
	obj.SetGroupVersionKind(version.WithKind(c.kind))
	obj.SetName(fmt.Sprintf("object-%d", i))
	_, err = dyn.Resource(version.WithResource(c.resource)).Namespace(doomed).Create(ctx, obj, metav1.CreateOptions{})
	return err
}

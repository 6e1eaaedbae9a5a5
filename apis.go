package bowline

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/controllers/clusterroleaggregation"
	"github.com/bowline-dev/bowline/internal/controllers/cronjob"
	"github.com/bowline-dev/bowline/internal/controllers/daemonset"
	"github.com/bowline-dev/bowline/internal/controllers/deployment"
	"github.com/bowline-dev/bowline/internal/controllers/disruption"
	"github.com/bowline-dev/bowline/internal/controllers/endpoint"
	"github.com/bowline-dev/bowline/internal/controllers/endpointslice"
	"github.com/bowline-dev/bowline/internal/controllers/endpointslicemirroring"
	"github.com/bowline-dev/bowline/internal/controllers/job"
	"github.com/bowline-dev/bowline/internal/controllers/nodelifecycle"
	"github.com/bowline-dev/bowline/internal/controllers/podgc"
	"github.com/bowline-dev/bowline/internal/controllers/pvcprotection"
	"github.com/bowline-dev/bowline/internal/controllers/pvprotection"
	"github.com/bowline-dev/bowline/internal/controllers/replicaset"
	"github.com/bowline-dev/bowline/internal/controllers/replicationcontroller"
	"github.com/bowline-dev/bowline/internal/controllers/resourcequota"
	"github.com/bowline-dev/bowline/internal/controllers/scheduler"
	"github.com/bowline-dev/bowline/internal/controllers/serviceaccount"
	"github.com/bowline-dev/bowline/internal/controllers/serviceaccounttoken"
	"github.com/bowline-dev/bowline/internal/controllers/servicecidr"
	"github.com/bowline-dev/bowline/internal/controllers/statefulset"
	"github.com/bowline-dev/bowline/internal/controllers/ttlafterfinished"
	"github.com/bowline-dev/bowline/internal/controllers/vacprotection"
	"github.com/bowline-dev/bowline/internal/controllers/validatingadmissionpolicystatus"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
)

// Resources that controllers need.
var (
	budgets         = v1("policy", "poddisruptionbudgets")
	claims          = v1("", "persistentvolumeclaims")
	clusterRoles    = v1("rbac.authorization.k8s.io", "clusterroles")
	configMaps      = v1("", "configmaps")
	cronJobs        = v1("batch", "cronjobs")
	daemonSets      = v1("apps", "daemonsets")
	definitions     = v1("apiextensions.k8s.io", "customresourcedefinitions")
	deployments     = v1("apps", "deployments")
	endpoints       = v1("", "endpoints")
	endpointSlices  = v1("discovery.k8s.io", "endpointslices")
	ipAddresses     = v1("networking.k8s.io", "ipaddresses")
	jobs            = v1("batch", "jobs")
	leases          = v1("coordination.k8s.io", "leases")
	namespaces      = v1("", "namespaces")
	nodes           = v1("", "nodes")
	pods            = v1("", "pods")
	policies        = v1("admissionregistration.k8s.io", "validatingadmissionpolicies")
	replicaSets     = v1("apps", "replicasets")
	replicators     = v1("", "replicationcontrollers")
	resourceQuotas  = v1("", "resourcequotas")
	revisions       = v1("apps", "controllerrevisions")
	serviceAccounts = v1("", "serviceaccounts")
	secrets         = v1("", "secrets")
	serviceCIDRs    = v1("networking.k8s.io", "servicecidrs")
	services        = v1("", "services")
	statefulSets    = v1("apps", "statefulsets")
	volumes         = v1("", "persistentvolumes")
	volumeClasses   = v1("storage.k8s.io", "volumeattributesclasses")
)

func v1(group, resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}
}

// needs lists the resources that controllers watch. They also write Events, whose loss is only logged. The controllers
// namespace and garbagecollector have no entry: they act on the resources that are served.
var needs = map[string][]schema.GroupVersionResource{
	clusterroleaggregation.Name: {clusterRoles},
	cronjob.Name:                {cronJobs, jobs},
	daemonset.Name:              {revisions, daemonSets, nodes, pods},
	deployment.Name:             {deployments, pods, replicaSets},
	disruption.Name:             {deployments, budgets, pods, replicaSets, replicators, statefulSets},
	endpoint.Name:               {endpoints, pods, services},
	endpointslice.Name:          {endpointSlices, nodes, pods, services},
	job.Name:                    {jobs, pods},
	nodelifecycle.Name:          {leases, nodes, pods},
	podgc.Name:                  {nodes, pods},
	pvprotection.Name:           {volumes},
	pvcprotection.Name:          {claims, pods},
	replicaset.Name:             {pods, replicaSets},
	replicationcontroller.Name:  {pods, replicators},
	resourcequota.Name:          {definitions, pods, resourceQuotas},
	scheduler.Name:              {namespaces, nodes, budgets, pods},
	serviceaccount.Name:         {configMaps, namespaces, serviceAccounts},
	servicecidr.Name:            {ipAddresses, serviceCIDRs},
	statefulset.Name:            {revisions, claims, pods, statefulSets},
	ttlafterfinished.Name:       {jobs},
	vacprotection.Name:          {claims, volumes, volumeClasses},

	serviceaccounttoken.Name: {secrets, serviceAccounts},

	endpointslicemirroring.Name:          {endpoints, endpointSlices, services},
	validatingadmissionpolicystatus.Name: {policies},
}

// checkAPI returns an error if a list for Options.API is invalid, or turns off what the server or one of the
// controllers needs.
func checkAPI(list, controllers []string) error {
	running := map[string][]schema.GroupVersionResource{}
	for _, name := range controllers {
		running[name] = needs[name]
	}
	return builtin.CheckAPIs(list, running)
}

package main

// project is a project whose install manifests or chart come with its Go module.
type project struct {
	name, module string
	// versions are installed in this order, each as an upgrade of the one before.
	versions []string
	from     source
}

// projects leaves out those whose objects cannot be deleted while their own webhook does not run, also on Kubernetes,
// such as Knative Serving.
var projects = []project{
	{name: "Argo CD", module: "github.com/argoproj/argo-cd/v3", versions: []string{"v3.5.1", "v3.5.7"},
		from: manifests{namespace: "argocd", files: []string{"manifests/install.yaml"}}},
	{name: "Argo Rollouts", module: "github.com/argoproj/argo-rollouts", versions: []string{"v1.9.0", "v1.10.0"},
		from: manifests{namespace: "argo-rollouts", files: []string{"manifests/install.yaml"}}},
	{name: "cert-manager", module: "github.com/cert-manager/cert-manager", versions: []string{"v1.21.0", "v1.21.2"},
		from: chart{namespace: "cert-manager", path: "deploy/charts/cert-manager"}},
	{name: "Cilium", module: "github.com/cilium/cilium", versions: []string{"v1.15.19", "v1.20.2"},
		from: chart{namespace: "kube-system", path: "install/kubernetes/cilium"}},
	{name: "Contour", module: "github.com/projectcontour/contour", versions: []string{"v1.33.7", "v1.33.8"},
		from: manifests{files: []string{"examples/contour"}}},
	{name: "descheduler", module: "sigs.k8s.io/descheduler", versions: []string{"v0.36.0"},
		from: chart{namespace: "kube-system", path: "charts/descheduler"}},
	{name: "External Secrets", module: "github.com/external-secrets/external-secrets",
		versions: []string{"v0.16.2", "v1.3.2"},
		from:     manifests{files: []string{"deploy/crds/bundle.yaml"}}},
	{name: "Flux's roles", module: "github.com/fluxcd/flux2/v2", versions: []string{"v2.6.4", "v2.9.5"},
		from: kustomization{path: "manifests/rbac"}},
	{name: "Gatekeeper", module: "github.com/open-policy-agent/gatekeeper/v3",
		versions: []string{"v3.17.0", "v3.23.1"},
		from:     manifests{files: []string{"deploy/gatekeeper.yaml"}}},
	{name: "Gatekeeper's chart", module: "github.com/open-policy-agent/gatekeeper/v3",
		versions: []string{"v3.17.0", "v3.23.1"},
		from:     chart{namespace: "gatekeeper-system", path: "charts/gatekeeper"}},
	{name: "Gateway API", module: "sigs.k8s.io/gateway-api", versions: []string{"v1.5.0", "v1.6.3"},
		from: kustomization{path: "config/crd"}},
	{name: "KEDA", module: "github.com/kedacore/keda/v2", versions: []string{"v2.20.2", "v2.21.0"},
		from: kustomization{path: "config/default"}},
	{name: "Kueue", module: "sigs.k8s.io/kueue", versions: []string{"v0.17.0"},
		from: chart{namespace: "kueue-system", path: "charts/kueue"}},
	{name: "Kyverno", module: "github.com/kyverno/kyverno", versions: []string{"v1.18.2", "v1.19.1"},
		from: manifests{namespace: "kyverno", files: []string{"config/install-latest-testing.yaml"}}},
	{name: "MetalLB", module: "go.universe.tf/metallb", versions: []string{"v0.15.2", "v0.16.2"},
		from: manifests{files: []string{"config/manifests/metallb-native.yaml"}}},
	{name: "metrics-server", module: "sigs.k8s.io/metrics-server", versions: []string{"v0.8.0", "v0.9.0"},
		from: chart{namespace: "kube-system", path: "charts/metrics-server"}},
	{name: "Prometheus Operator", module: "github.com/prometheus-operator/prometheus-operator",
		versions: []string{"v0.85.0"},
		from:     manifests{files: []string{"bundle.yaml"}}},
	{name: "Sealed Secrets", module: "github.com/bitnami-labs/sealed-secrets",
		versions: []string{"v0.27.1", "v0.40.0"},
		from:     chart{namespace: "kube-system", path: "helm/sealed-secrets"}},
	{name: "Traefik", module: "github.com/traefik/traefik/v3", versions: []string{"v3.6.12", "v3.7.13"},
		from: manifests{files: []string{"docs/content/reference/dynamic-configuration/kubernetes-crd-definition-v1.yml"}}},
	{name: "Velero", module: "github.com/vmware-tanzu/velero", versions: []string{"v1.14.0", "v1.18.3"},
		from: manifests{files: []string{"config/crd/v1/bases", "config/crd/v2alpha1/bases"}}},
	{name: "volume snapshots", module: "github.com/kubernetes-csi/external-snapshotter/client/v8",
		versions: []string{"v8.7.0"},
		from:     kustomization{path: "config/crd"}},
}

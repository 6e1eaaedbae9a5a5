// Package podspec has the rules of pods and pod templates: defaults, preparation for a write, validation, warnings, and
// the quality of service class. Package core uses it for pods, and packages core, apps and batch for the templates of
// workloads. It also has what these packages share with pods: the specs of claims, the names of resources, and the
// layout in which Kubernetes' error messages show objects.
//
// Validation follows Kubernetes 1.36 (k8s.io/kubernetes/pkg/apis/core/validation); the tests name the source of each
// rule. The functions that set defaults or prepare a write modify their first argument; all others only read.
package podspec

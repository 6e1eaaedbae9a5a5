package podspec

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// deprecatedNodeLabels maps deprecated labels of nodes to the text of a warning.
var deprecatedNodeLabels = map[string]string{
	"beta.kubernetes.io/arch":                       replaced("v1.14", corev1.LabelArchStable),
	"beta.kubernetes.io/os":                         replaced("v1.14", corev1.LabelOSStable),
	corev1.LabelFailureDomainBetaRegion:             replaced("v1.17", corev1.LabelTopologyRegion),
	corev1.LabelFailureDomainBetaZone:               replaced("v1.17", corev1.LabelTopologyZone),
	corev1.LabelInstanceType:                        replaced("v1.17", corev1.LabelInstanceTypeStable),
	"app.kubernetes.io/created-by":                  "deprecated since v1.9",
	"scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
	"node-role.kubernetes.io/master":                `use "node-role.kubernetes.io/control-plane" instead`,
}

func replaced(since, by string) string {
	return fmt.Sprintf("deprecated since %s; use %q instead", since, by)
}

// DeprecatedNodeLabel reports whether a label of nodes is deprecated, and returns the text of a warning about it.
func DeprecatedNodeLabel(key string) (message string, deprecated bool) {
	message, deprecated = deprecatedNodeLabels[key]
	return message, deprecated
}

package cli

import (
	"regexp"

	"k8s.io/apimachinery/pkg/api/resource"
)

// sizePattern matches numbers of bytes, in decimal or with a suffix. Quantities may also have an exponent, which makes
// them as long as they like.
var sizePattern = regexp.MustCompile(`^[0-9]{1,18}(\.[0-9]{1,3})?(k|M|G|T|Ki|Mi|Gi|Ti)?$`)

// Bytes parses the value of a flag as a number of bytes, written as a quantity of Kubernetes: 512Mi. An empty value is
// 0.
func Bytes(flag, value string) (int64, error) {
	if value == "" {
		return 0, nil
	}
	if sizePattern.MatchString(value) {
		if q, err := resource.ParseQuantity(value); err == nil && q.Value() > 0 {
			return q.Value(), nil
		}
	}
	return 0, Usagef("invalid --%s %q: must be a number of bytes, such as 512Mi or 2Gi", flag, value)
}

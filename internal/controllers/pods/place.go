package pods

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
)

// NameOn is Name for pods of which there is one in each place, such as on a node, and another one for each template: the n-th name
// there, by the place and the template's hash.
func NameOn(owner client.Object, place, hash string, n int) string {
	each := types.UID(fmt.Sprintf("%s/%s/%s", owner.GetUID(), place, hash))
	return Prefix(owner.GetName()) + nameSuffix(each, n)
}

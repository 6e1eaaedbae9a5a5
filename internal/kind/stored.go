package kind

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/internal/object"
)

// unmarshalStored decodes the output of Marshal without parsing the field sets of managers. The struct holds
// them as JSON too, and validating that JSON took half of the decoding time.
func unmarshalStored(format object.Format, data []byte, into runtime.Object) error {
	if format != object.JSON {
		return Unmarshal(format, data, into)
	}
	thin, sets := object.CutFieldSets(data)
	if err := Unmarshal(format, thin, into); err != nil || sets == nil {
		return err
	}
	entries := into.(metav1.Object).GetManagedFields()
	if len(entries) != len(sets) {
		return fmt.Errorf("got %d managedFields, but %d are stored", len(entries), len(sets))
	}
	for i, set := range sets {
		if set != nil {
			entries[i].FieldsV1 = metav1.NewFieldsV1(string(set))
		}
	}
	return nil
}

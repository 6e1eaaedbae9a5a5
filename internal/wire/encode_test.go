package wire

import "testing"

// A field of a list that only this program sets cannot be set by a server.
func TestListInJSONHasNoProtobufItems(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"true", "1"} {
		list, err := decodeList([]byte(`{"kind":"PodList","apiVersion":"v1","metadata":{},"Protobuf":` + value +
			`,"items":[{"metadata":{"name":"a"}}]}`))
		if err != nil || list.Protobuf || len(list.Items) != 1 {
			t.Errorf("Protobuf %s: %+v, %v", value, list, err)
		}
	}
}

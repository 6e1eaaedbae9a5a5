package cli

import "testing"

func TestBytes(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]int64{
		"": 0, "1": 1, "1000": 1000, "64Ki": 64 << 10, "1.5Gi": 3 << 29, "2G": 2_000_000_000,
		"0": -1, "-1": -1, "1e9": -1, "1e999999999": -1, "1 Gi": -1, "Gi": -1, "unlimited": -1, "1Ei": -1,
	} {
		got, err := Bytes("max-bytes", value)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("%q: got %d, %v, want %d", value, got, err, want)
		}
	}
}

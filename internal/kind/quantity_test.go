package kind_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// quantities returns encodings of a quantity as a protobuf field, between before and after: the canonical
// one, and those with a tag and a length whose varints are longer than necessary.
func quantities(before, text, after string) (all [][]byte) {
	for _, tag := range []string{"\x0a", "\x8a\x00", "\x8a\x80\x80\x80\x80a"} {
		length := protowire.AppendVarint(nil, uint64(len(text)))
		for _, more := range []string{"", "\x00", "\x80\x80\x00", strings.Repeat("\x80", 9-len(length)) + "b"} {
			data := append([]byte(before+tag), length...)
			if more != "" {
				data[len(data)-1] |= 0x80
			}
			all = append(all, []byte(string(data)+more+text+after))
		}
	}
	return all
}

func TestHugeQuantitiesAreMaskedInProtobuf(t *testing.T) {
	t.Parallel()
	for mantissa := 1; mantissa <= 300; mantissa++ {
		for _, sign := range []string{"", "-", "+"} {
			for _, exponent := range []string{"e9999", "E-9999", "e+" + strings.Repeat("9", mantissa%90+4)} {
				text := sign + strings.Repeat("1", mantissa) + exponent
				for _, around := range [][2]string{{"", ""}, {"1", "b"}, {"\x0a\x31", "-"}, {"-.", "9e"}} {
					for _, data := range quantities(around[0], text, around[1]) {
						if masked := kind.MaskHugeQuantities(object.Protobuf, data); bytes.Equal(masked, data) {
							t.Fatalf("the huge quantity %q is not masked in %q", text, data)
						}
					}
				}
			}
		}
	}
	for _, text := range []string{"1e999", "12.5", "1e-999", ".5e100"} {
		for _, data := range quantities("", text, "b") {
			if !bytes.Equal(kind.MaskHugeQuantities(object.Protobuf, data), data) {
				t.Errorf("%q is masked, but is not huge", text)
			}
		}
	}
}

// A uid like 11e12345-... seems to contain an exponent; it must not cause a second decoding of the object.
func TestUIDsAreNotMasked(t *testing.T) {
	t.Parallel()
	for i := range 5_000 {
		uid := types.UID(uuid.NewString())
		if i%2 == 0 {
			uid = types.UID(fmt.Sprintf("a%04de%05d", i, i) + string(uid)[11:])
		}
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: uid,
			OwnerReferences: []metav1.OwnerReference{{UID: uid}}}}
		data, err := pod.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if masked := kind.MaskHugeQuantities(object.Protobuf, data); !bytes.Equal(masked, data) {
			t.Fatalf("a part of the uid %s is masked as a huge quantity", uid)
		}
	}
}

package kind

import (
	"bytes"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/internal/object"
)

// Limits on the digits of a quantity: 1e999 exceeds any real resource.
const (
	mantissaDigits = 256
	exponentDigits = 3
)

// rejectHugeQuantities rejects a body with a quantity like 1e999999999. To parse or compare such a number,
// resource.Quantity expands it, which takes hours and gigabytes. A body with a suspicious text is first
// decoded with that text masked: if decoding succeeds, the text is not a quantity (but, for example, part of
// an annotation).
func rejectHugeQuantities(format object.Format, body []byte, prototype func() runtime.Object) error {
	if masked := MaskHugeQuantities(format, body); len(masked) > 0 && &masked[0] != &body[0] {
		return Unmarshal(format, masked, prototype())
	}
	return nil
}

// MaskHugeQuantities returns data itself or, if it contains numbers that exceed the limits of a quantity, a copy of the
// same length with a '!' in each of them.
func MaskHugeQuantities(format object.Format, data []byte) []byte {
	masked, copied, run := data, false, 0
	for i, b := range data {
		digit := isDigit(b)
		switch {
		case digit && run < mantissaDigits:
			run++
			continue
		case digit, b|0x20 == 'e' && (run > 0 || i > 0 && data[i-1] == '.') && longExponent(format, data, i):
			if !copied {
				masked, copied = bytes.Clone(data), true
			}
			masked[i] = '!'
		}
		run = 0
	}
	return masked
}

// longExponent reports whether the 'e' at index e starts an exponent with too many digits. The number must
// end where a quantity would end, which excludes most of the hexadecimal digits of a uid.
func longExponent(format object.Format, data []byte, e int) bool {
	end := e + 1
	if end < len(data) && (data[end] == '-' || data[end] == '+') {
		end++
	}
	first := end
	for end < len(data) && isDigit(data[end]) {
		end++
	}
	switch {
	case end-first <= exponentDigits:
		return false
	case format == object.JSON:
		return end == len(data) || bytes.IndexByte([]byte("\",]} \t\r\n"), data[end]) >= 0
	}
	return isWholeValue(data, e, first+exponentDigits+1, end)
}

// maxShortLength is the maximum length that fits in one byte of a varint.
const maxShortLength = 127

// isWholeValue reports whether a number in protobuf, whose exponent starts at e, may be the whole value of its
// field, as a quantity is. The length of the value precedes it. Its varint may be longer than necessary and
// end in any byte, and both that byte and the tag of the next field may look like digits, so the text ends
// somewhere between least and most.
func isWholeValue(data []byte, e, least, most int) bool {
	for start := e; start > 1 && most-start <= maxShortLength; start-- {
		before := data[start-1]
		end := start + int(before)
		switch {
		case data[start-2] >= 0x80, least <= end && end <= most: // a multi-byte varint, or the length
			return true
		case !isDigit(before) && bytes.IndexByte([]byte("+-."), before) < 0:
			return false
		}
	}
	return true
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

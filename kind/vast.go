package kind

import (
	"bytes"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/object"
)

// A quantity may have so many digits in one place: 1e999 is more than there is of anything.
const (
	mantissaDigits = 256
	exponentDigits = 3
)

// refuseVast refuses a body with a quantity like 1e999999999: resource.Quantity writes such a number out, to parse or to
// compare it, which takes hours and gigabytes. A body with a text that looks like one is read twice, first with that text made
// unreadable as a number: when it can still be read into the struct, the text is no quantity (but somebody's annotation).
func refuseVast(format object.Format, body []byte, prototype func() runtime.Object) error {
	if masked := MaskVast(format, body); len(masked) > 0 && &masked[0] != &body[0] {
		return Unmarshal(format, masked, prototype())
	}
	return nil
}

// MaskVast is data as it is or, if there are numbers that no quantity may have, a copy of the same length with a '!' in each.
func MaskVast(format object.Format, data []byte) []byte {
	masked, copied, run := data, false, 0
	for i, b := range data {
		digit := isDigit(b)
		switch {
		case digit && run < mantissaDigits:
			run++
			continue
		case digit, b|0x20 == 'e' && (run > 0 || i > 0 && data[i-1] == '.') && longExponent(format, data[i+1:]):
			if !copied {
				masked, copied = bytes.Clone(data), true
			}
			masked[i] = '!'
		}
		run = 0
	}
	return masked
}

// longExponent tells whether data begins with an exponent that is too long. In JSON something has to end it, which tells it from
// most of the hexadecimal digits of a uid.
func longExponent(format object.Format, data []byte) bool {
	if len(data) > 0 && (data[0] == '-' || data[0] == '+') {
		data = data[1:]
	}
	n := 0
	for n < len(data) && isDigit(data[n]) {
		n++
	}
	return n > exponentDigits && (format != object.JSON || n == len(data) || bytes.IndexByte([]byte("\",]} \t\r\n"), data[n]) >= 0)
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

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

// longExponent tells whether a number has an exponent, with its 'e' at that place, that is too long. It has to end where a
// quantity would, which tells it from most of the hexadecimal digits of a uid.
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
	return isWholeText(data, e, first+exponentDigits+1, end)
}

// shortText is what a length of one byte says at most.
const shortText = 127

// isWholeText tells whether a number in protobuf, whose exponent begins at e, is all that its field says, as a quantity is: its
// length stands before it. That may be longer than it need be, with anything for its last byte, and may look like a digit itself,
// as may the tag of the next field, so that the text ends somewhere between least and most.
func isWholeText(data []byte, e, least, most int) bool {
	for start := e; start > 1 && most-start <= shortText; start-- {
		before := data[start-1]
		end := start + int(before)
		switch {
		case data[start-2] >= 0x80, least <= end && end <= most: // it goes on from the byte before, or is the length
			return true
		case !isDigit(before) && bytes.IndexByte([]byte("+-."), before) < 0:
			return false
		}
	}
	return true
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

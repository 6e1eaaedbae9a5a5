package object

import "bytes"

// Scan finds the end of a JSON value in data that arrives bit by bit: it looks at each byte once.
type Scan struct {
	at     int // what was looked at
	depth  int
	quoted bool
	spaced bool
}

// Value is how long the value at the start of data is; done is false as long as it does not end within data, and Value is
// to be asked again when there is more. 0 is what no value begins with. A number ends where something else begins.
func (s *Scan) Value(data []byte) (n int, done bool) {
	for s.at < len(data) {
		if s.quoted {
			if !s.closeString(data) {
				return 0, false
			}
			if s.depth == 0 {
				return s.at, true
			}
			continue
		}
		b := data[s.at]
		switch b {
		case '"':
			s.quoted = true
		case '{', '[':
			s.depth++
		case '}', ']', ',', ':':
			if s.depth == 0 {
				return s.at, true
			}
			if b == '}' || b == ']' {
				s.depth--
				if s.depth == 0 {
					return s.at + 1, true
				}
			}
		case ' ', '\n', '\t', '\r':
			if s.depth == 0 {
				return s.at, true
			}
			s.spaced = true
		}
		s.at++
	}
	return 0, false
}

// closeString goes behind the quotation mark that ends a string, as far as there is one.
func (s *Scan) closeString(data []byte) bool {
	for {
		i := bytes.IndexByte(data[s.at:], '"')
		if i < 0 {
			s.at = keepEscape(data, s.at)
			return false
		}
		end := s.at + i
		slashes := 0
		for end-slashes > s.at && data[end-slashes-1] == '\\' {
			slashes++
		}
		s.at = end + 1
		if slashes%2 == 0 {
			s.quoted = false
			return true
		}
	}
}

// keepEscape is where to go on with a string whose end is not there yet: at the backslash that it ends with, if that escapes
// what is to come.
func keepEscape(data []byte, from int) int {
	slashes := len(data[from:]) - len(bytes.TrimRight(data[from:], `\`))
	return len(data) - slashes%2
}

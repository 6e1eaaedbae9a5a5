package object

import "bytes"

// Scan finds the end of a JSON value in data that arrives in pieces. It examines each byte once.
type Scan struct {
	at     int // number of bytes examined
	depth  int
	quoted bool
	spaced bool
}

// Value returns the length of the value at the start of data. If the value does not end within data, done is
// false, and Value must be called again with more data. A length of 0 means that no value begins there. A
// number ends at the byte that follows it.
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

// closeString advances past the closing quotation mark of a string, and reports whether it found one.
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

// keepEscape returns the position at which to continue with an unterminated string: before a trailing
// backslash if it escapes the next byte.
func keepEscape(data []byte, from int) int {
	slashes := len(data[from:]) - len(bytes.TrimRight(data[from:], `\`))
	return len(data) - slashes%2
}

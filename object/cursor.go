package object

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// Cursor walks through JSON that nobody has checked, and decodes only what it is asked for. What it passes over need be no
// more than brackets that match and strings that end. After its first error it does nothing.
type Cursor struct {
	data   []byte
	at     int
	spaced bool // it came over white space
	err    error
}

// NewCursor begins at the first value of data.
func NewCursor(data []byte) *Cursor { return &Cursor{data: data} }

// Err is what went wrong; ErrShort where more data would have been needed.
func (c *Cursor) Err() error { return c.err }

// ErrShort is the error of JSON that ends too early, ErrSyntax that of what is none.
var (
	ErrShort  = errors.New("the JSON ends too early")
	ErrSyntax = errors.New("it is no JSON")
)

// next is the byte that the next token begins with; 0 at the end.
func (c *Cursor) next() byte {
	for ; c.at < len(c.data); c.at++ {
		switch b := c.data[c.at]; b {
		case ' ', '\n', '\t', '\r':
			c.spaced = true
		default:
			return b
		}
	}
	c.fail(ErrShort)
	return 0
}

func (c *Cursor) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// take passes a byte that has to be there.
func (c *Cursor) take(want byte) {
	if got := c.next(); got != want {
		c.fail(ErrSyntax)
		return
	}
	c.at++
}

// Fields calls f before the value of each field of an object, which f takes or skips, until f is false. What is no
// object has no fields.
func (c *Cursor) Fields(f func(name []byte) bool) {
	if c.next() != '{' {
		c.Skip()
		return
	}
	c.at++
	for first := true; c.err == nil; first = false {
		if c.next() == '}' {
			c.at++
			return
		}
		if !first {
			c.take(',')
		}
		name := c.String()
		c.take(':')
		if c.err != nil || !f(name) {
			return
		}
	}
}

// Items calls f before each item of an array, which f takes or skips, until f is false. What is no array has none.
func (c *Cursor) Items(f func() bool) {
	if c.next() != '[' {
		c.Skip()
		return
	}
	c.at++
	for first := true; c.err == nil; first = false {
		if c.next() == ']' {
			c.at++
			return
		}
		if !first {
			c.take(',')
		}
		if c.err != nil || !f() {
			return
		}
	}
}

// String takes a string. The result is a part of the data where that is what encoding/json would make of it: nothing is
// escaped, and it is UTF-8. What is no string is empty.
func (c *Cursor) String() []byte {
	if c.next() != '"' {
		c.Skip()
		return nil
	}
	quoted := c.Skip()
	if c.err != nil {
		return nil
	}
	if bytes.IndexByte(quoted, '\\') < 0 && utf8.Valid(quoted) {
		return quoted[1 : len(quoted)-1]
	}
	var s string
	if err := json.Unmarshal(quoted, &s); err != nil {
		c.fail(err)
	}
	return []byte(s)
}

// Skip passes over a value and returns it.
func (c *Cursor) Skip() []byte {
	c.next()
	if c.err != nil {
		return nil
	}
	var s Scan
	n, done := s.Value(c.data[c.at:])
	if !done {
		c.fail(ErrShort)
		return nil
	}
	if n == 0 {
		c.fail(ErrSyntax)
		return nil
	}
	c.spaced = c.spaced || s.spaced
	value := c.data[c.at : c.at+n]
	c.at += n
	return value
}

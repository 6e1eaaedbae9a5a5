package object

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// Cursor reads unvalidated JSON and decodes only the values asked for. Of skipped values it checks only that
// brackets match and strings end. After its first error, a Cursor does nothing.
type Cursor struct {
	data   []byte
	at     int
	spaced bool // white space was found between tokens
	err    error
}

// NewCursor returns a cursor at the first value of data.
func NewCursor(data []byte) *Cursor { return &Cursor{data: data} }

// Err returns the first error; ErrShort if the data ended too early.
func (c *Cursor) Err() error { return c.err }

// ErrShort reports JSON that ends too early, ErrSyntax invalid JSON.
var (
	ErrShort  = errors.New("the JSON ends too early")
	ErrSyntax = errors.New("not valid JSON")
)

// next skips white space and returns the first byte of the next token, or 0 at the end of the data.
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

// expect consumes the byte want, or fails.
func (c *Cursor) expect(want byte) {
	if got := c.next(); got != want {
		c.fail(ErrSyntax)
		return
	}
	c.at++
}

// Fields calls f with the name of each field of a JSON object. f must consume or skip the field's value;
// iteration stops when it returns false. Any other value is skipped.
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
			c.expect(',')
		}
		name := c.String()
		c.expect(':')
		if c.err != nil || !f(name) {
			return
		}
	}
}

// Items calls f before each item of a JSON array. f must consume or skip the item; iteration stops when it
// returns false. Any other value is skipped.
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
			c.expect(',')
		}
		if c.err != nil || !f() {
			return
		}
	}
}

// String consumes a string and returns it decoded. The result aliases the data unless the string has escapes
// or invalid UTF-8. Any other value is skipped and returned as nil.
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

// Skip consumes a value and returns its bytes, which alias the data.
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

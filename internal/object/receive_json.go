package object

import (
	"bytes"
	"encoding/json"

	"k8s.io/apimachinery/pkg/types"
)

// readJSON reads apiVersion and metadata, and stops when it has found both. It returns data without white
// space between tokens, which an Encoding must not have.
func (m *metadata) readJSON(data []byte) ([]byte, error) {
	c := Cursor{data: data}
	var version, meta bool
	c.Fields(func(name []byte) bool {
		switch string(name) {
		case "apiVersion":
			m.version, version = c.String(), true
		case "metadata":
			m.readMetadata(&c)
			meta = true
		default:
			c.Skip()
		}
		return !version || !meta
	})
	if c.err != nil || !c.spaced {
		return data, c.err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		return nil, err
	}
	return compact.Bytes(), nil
}

func (m *metadata) readMetadata(c *Cursor) {
	var labelled bool
	c.Fields(func(name []byte) bool {
		switch string(name) {
		case "name":
			m.name = c.String()
		case "namespace":
			m.namespace = c.String()
		case "uid":
			m.uid = c.String()
		case "resourceVersion":
			m.revision = c.String()
		case "labels":
			m.labels.readJSON(c)
			labelled = true
		case "ownerReferences":
			m.readOwners(c)
		default:
			c.Skip()
		}
		return true
	})
	if !labelled {
		m.labels = labels{}
	}
}

func (m *metadata) readOwners(c *Cursor) {
	c.Items(func() bool {
		c.Fields(func(name []byte) bool {
			if string(name) == "uid" {
				m.owners = append(m.owners, types.UID(c.String()))
			} else {
				c.Skip()
			}
			return true
		})
		return true
	})
}

func (l *labels) readJSON(c *Cursor) {
	raw := c.Skip()
	if bytes.Equal(raw, l.raw) {
		return
	}
	*l = labels{raw: raw}
	if len(raw) == 0 || raw[0] != '{' {
		return // null means none; any other type is an error that Decode reports
	}
	each := Cursor{data: raw}
	each.Fields(func(name []byte) bool {
		if l.set == nil {
			l.set = map[string]string{}
		}
		l.set[string(name)] = string(each.String())
		return true
	})
	if each.err != nil {
		c.err = each.err
	}
}

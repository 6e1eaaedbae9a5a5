// Package expansion bounds the size of YAML documents whose aliases are expanded. An alias repeats a part of a document
// in two bytes, so a document of 3 MB can stand for gigabytes. YAML libraries bound the number of values that aliases
// repeat, but not their size.
package expansion

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// TooLargeError is returned for a document that expands to more than a limit.
type TooLargeError struct {
	// Limit is the maximum number of bytes.
	Limit int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the aliases of the YAML document expand to more than %d bytes", e.Limit)
}

// Check returns a *TooLargeError if the text of a YAML document without its aliases has more than limit bytes, or a
// syntax error. It expands nothing, and takes time proportional to the length of the document.
func Check(document []byte, limit int) error {
	if !bytes.ContainsRune(document, '*') { // an alias begins with it
		return nil
	}
	var root yaml.Node
	if err := yaml.Unmarshal(document, &root); err != nil {
		return err
	}
	m := measure{limit: limit, anchors: map[*yaml.Node]int{}}
	if m.size(&root) > limit {
		return &TooLargeError{Limit: limit}
	}
	return nil
}

// measure computes the sizes of nodes. A size beyond the limit is only known to be beyond it.
type measure struct {
	limit   int
	anchors map[*yaml.Node]int // sizes of the nodes with an anchor
}

func (m *measure) size(n *yaml.Node) int {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Anchor != "" {
		if size, ok := m.anchors[n]; ok {
			return size
		}
		m.anchors[n] = 0 // of an alias within the node itself, which every library rejects
	}
	const separators = 3 // quotation marks and a comma
	size := len(n.Value) + separators
	for _, child := range n.Content {
		if size = size + m.size(child); size > m.limit {
			size = m.limit + 1
			break
		}
	}
	if n.Anchor != "" {
		m.anchors[n] = size
	}
	return size
}

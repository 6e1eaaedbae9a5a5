package openapi

import (
	"archive/zip"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strings"
)

// packed holds the schemas of all built-in types by name (io.k8s.api.core.v1.Pod), with patch merge keys,
// list types, defaults, and the kinds that they describe. It is a zip archive with one JSON file per Go
// package, so that building a document decodes only the packages in the document. The file "v2" holds the schemas
// that differ in OpenAPI v2, and "kinds" the name of each kind's definition.
//
//go:generate go run ./gen definitions.zip
//go:embed definitions.zip
var packed string

// archive is packed, with the packages that were unpacked so far. It is not safe for concurrent use.
type archive struct {
	files    map[string]*zip.File
	packages map[string]map[string]json.RawMessage
	// names maps GROUP/VERSION/KIND to the name of the definition.
	names map[string]string
}

// openArchive reads the list of files and of kinds, in less than a millisecond.
func openArchive() (*archive, error) {
	r, err := zip.NewReader(strings.NewReader(packed), int64(len(packed)))
	if err != nil {
		return nil, fmt.Errorf("built-in OpenAPI definitions: %w", err)
	}
	a := &archive{files: map[string]*zip.File{}, packages: map[string]map[string]json.RawMessage{}}
	for _, f := range r.File {
		a.files[f.Name] = f
	}
	return a, a.read("kinds", &a.names)
}

// read unpacks a file.
func (a *archive) read(name string, into any) error {
	file, err := a.files[name].Open()
	if err != nil {
		return fmt.Errorf("built-in OpenAPI definitions of %s: %w", name, err)
	}
	defer file.Close()
	data := make([]byte, a.files[name].UncompressedSize64)
	if _, err = io.ReadFull(file, data); err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return fmt.Errorf("built-in OpenAPI definitions of %s: %w", name, err)
	}
	return nil
}

// forget removes the packages that not every document needs.
func (a *archive) forget() {
	maps.DeleteFunc(a.packages, func(name string, _ map[string]json.RawMessage) bool {
		return !strings.HasPrefix(name, "io.k8s.apimachinery.")
	})
}

// find returns a definition by name; nil if there is none.
func (a *archive) find(name string) (json.RawMessage, error) {
	of := name[:max(0, strings.LastIndexByte(name, '.'))]
	if a.files[of] == nil {
		return nil, nil
	}
	if a.packages[of] == nil {
		var definitions map[string]json.RawMessage
		if err := a.read(of, &definitions); err != nil {
			return nil, err
		}
		a.packages[of] = definitions
	}
	return a.packages[of][name], nil
}

// builtinHash identifies the version of the built-in schemas.
func builtinHash() [sha256.Size]byte { return sha256.Sum256([]byte(packed)) }

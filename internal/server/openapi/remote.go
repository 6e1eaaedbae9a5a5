package openapi

import (
	"encoding/json"
	"slices"
)

// Remotes lists the documents of other servers. It is immutable.
type Remotes struct{ Documents []*Remote }

// Remote is the OpenAPI v3 document of a group version that another server serves. The index lists it; the caller of
// Handler.Serve forwards the requests for it.
type Remote struct {
	// Path is apis/GROUP/VERSION, and URL the document's, without a host. It is the same at both servers.
	Path, URL string
	// Hash is the one in the URL; empty if it has none.
	Hash string
}

// addRemotes adds the documents of other servers to an index. Each replaces one of the same path.
func (x *index) addRemotes(remotes *Remotes) error {
	for _, r := range remotes.Documents {
		key, err := json.Marshal(r.Path)
		if err != nil {
			return err
		}
		value, err := json.Marshal(map[string]string{"serverRelativeURL": r.URL})
		if err != nil {
			return err
		}
		line := slices.Concat(key, []byte{':'}, value)
		x.entries[r.Path] = &indexEntry{path: r.Path, hash: r.Hash, line: line, remote: r}
	}
	return nil
}

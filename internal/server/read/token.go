package read

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"

	"github.com/bowline-dev/bowline/internal/store"
)

// continueToken is the position at which a page ended: the list continues at Start, in the snapshot of
// Revision, or in the latest one if that is negative. Its wire form is Kubernetes': it is opaque to clients,
// but tools decode it.
type continueToken struct {
	Version  string `json:"v"`
	Revision int64  `json:"rv"`
	Start    string `json:"start"`
}

// latestRevision continues a list in the latest state.
const latestRevision = -1

func (t continueToken) String() string {
	t.Version = "meta.k8s.io/v1"
	data, _ := json.Marshal(t) // a struct of strings and a number always marshals
	return base64.RawURLEncoding.EncodeToString(data)
}

// parseContinue parses a token. The error has Kubernetes' text.
func parseContinue(text string) (continueToken, error) {
	var t continueToken
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return t, fmt.Errorf("continue key is not valid: %v", err)
	}
	if err := json.Unmarshal(data, &t); err != nil {
		return t, fmt.Errorf("continue key is not valid: %v", err)
	}
	key := "/" + strings.TrimPrefix(t.Start, "/")
	switch {
	case t.Version != "meta.k8s.io/v1":
		return t, fmt.Errorf("continue key is not valid: server does not recognize this encoded version %s", t.Version)
	case t.Revision == 0:
		return t,
			errors.New("continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
	case t.Start == "":
		return t, errors.New("continue key is not valid: encoded start key empty (version meta.k8s.io/v1)")
	case path.Clean(key) != key: // it must not climb out of the list
		return t, fmt.Errorf("continue key is not valid: %s", t.Start)
	}
	return t, nil
}

// expiredPage returns the 410 of a list whose snapshot was compacted. If the client was paging, it carries a
// token that continues in the latest state.
func expiredPage(err error, o *internalversion.ListOptions) error {
	if _, compacted := err.(*store.CompactedError); !compacted || o.Continue == "" {
		return err
	}
	expired := apierrors.NewResourceExpired("The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.")
	token, parseErr := parseContinue(o.Continue)
	if parseErr != nil {
		return err
	}
	token.Revision = latestRevision
	expired.ErrStatus.ListMeta.Continue = token.String()
	return expired
}

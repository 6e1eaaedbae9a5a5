package patch

import (
	"bytes"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// maxOperations is the maximum number of operations in a JSON Patch.
const maxOperations = 10000

var noResource schema.GroupResource

// operation is a step of a JSON Patch. It is decoded only to find unknown and duplicate fields.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

func applyJSON(current, patch []byte, lenient bool) (next []byte, strict []string, err error) {
	if !lenient {
		var steps []operation
		if strict, err = decodeStrict(patch, &steps, "json patch "); err != nil {
			return nil, nil, nameOperations(err)
		}
	}
	steps, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, nil, apierrors.NewBadRequest(err.Error())
	}
	if len(steps) > maxOperations {
		return nil, nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
			"The allowed maximum operations in a JSON patch is %d, got %d", maxOperations, len(steps)))
	}
	if next, err = Steps(steps, current); err != nil {
		return nil, nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", noResource, "",
			err.Error(), 0, false)
	}
	return next, strict, nil
}

// Steps applies a decoded JSON Patch. Time and memory are bounded by the same limits as for patches of
// clients. The error is not a metav1 Status: its meaning depends on the origin of the patch.
func Steps(steps jsonpatch.Patch, current []byte) (next []byte, err error) {
	switch {
	case tooDeep(steps):
		return nil, errTooDeep
	case movesTooMuch(steps, current):
		return nil, errMovesTooMuch
	}
	return applySteps(steps, current)
}

// nameOperations replaces the name of type operation in an error by that of Kubernetes.
func nameOperations(err error) error {
	status := err.(*apierrors.StatusError)
	own := reflect.TypeFor[operation]().String()
	status.ErrStatus.Message = strings.ReplaceAll(status.ErrStatus.Message, own, "handlers.jsonPatchOp")
	return status
}

// Limits on the growth of an object through copy operations. Each copy may double the object, so that thirty
// of them would exceed any memory. Therefore applySteps applies a few copies at a time, and checks the size after
// each round.
const (
	copiesAtOnce = 4
	// maxGrowth is the number of bytes that a JSON Patch may add to an object beyond its own values: the
	// maximum size of a request.
	maxGrowth = 3 << 20
	// maxWork is the number of bytes of the object that all rounds together may process.
	maxWork = 64 << 20
)

// maxDepth is the number of levels that a step may descend. The library processes everything below each level
// again, so that a step through thousands of levels would take minutes; real objects have dozens of levels.
const maxDepth = 250

var errTooDeep = fmt.Errorf("a path of the JSON patch has more than %d levels", maxDepth)

// tooDeep reports whether a step's path, or the value that it tests, has too many levels.
func tooDeep(steps jsonpatch.Patch) bool {
	for _, s := range steps {
		for name, raw := range s {
			switch {
			case raw == nil:
			case name == "path" || name == "from":
				if bytes.Count(*raw, []byte("/")) > maxDepth {
					return true
				}
			case name == "value" && s.Kind() == "test":
				if depth(*raw) > maxDepth {
					return true
				}
			}
		}
	}
	return false
}

// depth returns the nesting depth of JSON.
func depth(text []byte) int {
	deepest, now := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			now++
			deepest = max(deepest, now)
		case '}', ']':
			now--
		case '"': // skip brackets in strings
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		}
	}
	return deepest
}

// maxMoved is the number of bytes that all steps together may move in lists: for each insertion or removal by
// index, the library copies the list, with 8 bytes per item.
const maxMoved = 1 << 30

var errMovesTooMuch = fmt.Errorf("the operations of the JSON patch move more than %d bytes of list items", maxMoved)

// movesTooMuch reports whether the steps could exceed maxMoved if each changed a list that contains all
// items: at most one per comma, and twice as many after each copy.
func movesTooMuch(steps jsonpatch.Patch, current []byte) bool {
	moves, items := 0, bytes.Count(current, []byte(","))
	for _, s := range steps {
		if raw := s["value"]; raw != nil {
			items += bytes.Count(*raw, []byte(",")) + 1
		}
		switch path, _ := s.Path(); s.Kind() {
		case "copy":
			items = min(2*items+1, len(current)+maxGrowth)
			fallthrough
		case "add", "remove", "move":
			if _, err := strconv.Atoi(path[strings.LastIndexByte(path, '/')+1:]); err == nil {
				moves++
			}
		}
	}
	return moves*items*8 > maxMoved
}

func applySteps(steps jsonpatch.Patch, current []byte) ([]byte, error) {
	room := len(current) + maxGrowth
	for _, s := range steps {
		room += stepSize(s)
	}
	next, work := current, 0
	for {
		n := nextRound(steps)
		var err error
		if next, err = applyRound(steps[:n], next); err != nil {
			return nil, err
		}
		if n == len(steps) {
			return next, nil
		}
		steps, work = steps[n:], work+len(next)
		if len(next) > room || work > maxWork {
			return nil, fmt.Errorf("the copy operations of the JSON patch enlarge the object to more than %d bytes",
				maxGrowth)
		}
	}
}

// applyRound applies some steps with the library. It converts panics to errors: the library panics for some
// meaningless steps, such as a test of the whole object against no value.
func applyRound(steps jsonpatch.Patch, current []byte) (next []byte, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("the JSON patch cannot be applied: %v", reason)
		}
	}()
	return steps.Apply(current)
}

// stepSize returns the number of bytes that a step may add to an object from the patch itself.
func stepSize(s jsonpatch.Operation) int {
	size := 0
	for _, raw := range s {
		if raw != nil {
			size += len(*raw)
		}
	}
	return size
}

// nextRound returns the number of steps to apply before the object's size is checked.
func nextRound(steps jsonpatch.Patch) int {
	copies := 0
	for i, s := range steps {
		if s.Kind() != "copy" {
			continue
		}
		if copies == copiesAtOnce {
			return i
		}
		copies++
	}
	return len(steps)
}

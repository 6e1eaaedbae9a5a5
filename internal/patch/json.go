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

// maxOperations is how many operations a JSON Patch may have.
const maxOperations = 10000

var noResource schema.GroupResource

// operation is one step of a JSON Patch. It is only read into to find fields that do not belong there.
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
		return nil, nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", noResource, "", err.Error(), 0, false)
	}
	return next, strict, nil
}

// Steps applies a JSON Patch that somebody has read, within the limits of those that clients send: whatever it says, that takes
// neither minutes nor all memory. The error is a plain one: whoever had the patch from somebody decides what it means.
func Steps(steps jsonpatch.Patch, current []byte) (next []byte, err error) {
	switch {
	case tooDeep(steps):
		return nil, errTooDeep
	case movesTooMuch(steps, current):
		return nil, errMovesTooMuch
	}
	return applySteps(steps, current)
}

// nameOperations puts Kubernetes' name of the type into the error that names ours.
func nameOperations(err error) error {
	status := err.(*apierrors.StatusError)
	own := reflect.TypeFor[operation]().String()
	status.ErrStatus.Message = strings.ReplaceAll(status.ErrStatus.Message, own, "handlers.jsonPatchOp")
	return status
}

// Limits of what copy operations may make of an object. Each may double it, so that thirty of them would fill any memory:
// the steps are applied a few copies at a time, and what they made is measured in between.
const (
	copiesAtOnce = 4
	// maxGrowth is how many bytes a JSON Patch may add to an object beside its own: as many as a request may carry.
	maxGrowth = 3 << 20
	// maxWork is how many bytes of the object may be gone over, all rounds together.
	maxWork = 64 << 20
)

// maxDepth is how many levels of an object a step may go down. The library goes over all that is below each of them once
// more, so that a step through thousands of levels would take minutes; real objects have dozens.
const maxDepth = 250

var errTooDeep = fmt.Errorf("a step of the patch goes down more than %d levels", maxDepth)

// tooDeep says whether a step's path, or the value that it compares, has too many levels.
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

// depth is how deep a JSON text nests.
func depth(text []byte) int {
	deepest, now := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			now++
			deepest = max(deepest, now)
		case '}', ']':
			now--
		case '"': // brackets in a string are none
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		}
	}
	return deepest
}

// maxMoved is how many bytes of lists all steps may move: the library copies a list, at 8 bytes an item, for each item
// that comes or goes by its place.
const maxMoved = 1 << 30

var errMovesTooMuch = fmt.Errorf("the steps of the patch move more than %d bytes of lists", maxMoved)

// movesTooMuch says whether the steps might move too much, if each acted on a list with all items that there ever are:
// no more than commas, and twice as many after each copy.
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
		n := roundOf(steps)
		var err error
		if next, err = applyRound(steps[:n], next); err != nil {
			return nil, err
		}
		if n == len(steps) {
			return next, nil
		}
		steps, work = steps[n:], work+len(next)
		if len(next) > room || work > maxWork {
			return nil, fmt.Errorf("the copy operations make more than %d bytes of the object", maxGrowth)
		}
	}
}

// applyRound lets the library apply some steps. It panics on some that make no sense, such as a test of the whole object
// against no value; those are refused like others that cannot be applied.
func applyRound(steps jsonpatch.Patch, current []byte) (next []byte, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("the steps of the patch cannot be applied: %v", reason)
		}
	}()
	return steps.Apply(current)
}

// stepSize is what a step may add to an object from the patch itself.
func stepSize(s jsonpatch.Operation) int {
	size := 0
	for _, raw := range s {
		if raw != nil {
			size += len(*raw)
		}
	}
	return size
}

// roundOf is how many steps may be applied before the object is measured.
func roundOf(steps jsonpatch.Patch) int {
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

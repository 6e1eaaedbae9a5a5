package apiextensions

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/golden"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// form returns the form of the bodies sent to a path.
func form(s golden.Step) object.Form {
	if strings.Contains(s.Path, "/v1beta1/") {
		return object.Form{APIVersion: legacy}
	}
	return object.Form{APIVersion: hub}
}

func newKind() kind.Kind { return Kinds(object.NewCache(1 << 20))[0] }

// write processes a body as a request does. It returns the object, or the Status of the error.
func write(t testing.TB, k kind.Kind, form object.Form, body []byte, old *definition) (*definition, *metav1.Status) {
	t.Helper()
	obj, strict, err := k.DecodeRequest(form, body, false)
	if err != nil {
		status := apierrors.NewBadRequest(err.Error()).Status()
		if s, ok := err.(apierrors.APIStatus); ok {
			status = s.Status()
		}
		return nil, &status
	}
	if len(strict) > 0 {
		t.Errorf("the definition has unknown fields: %q", strict)
	}
	var was kind.Object
	if old != nil {
		was = old
	}
	k.Prepare(obj, was, "")
	if errs := k.Validate(t.Context(), obj, was, ""); len(errs) > 0 {
		status := apierrors.NewInvalid(apiextensionsv1.Kind(k.Info().Kind), obj.GetName(), errs).Status()
		return nil, &status
	}
	return obj.(*definition), nil
}

// TestRecordedDefinitions processes the definitions of the recording, and compares the results with the
// responses of a kube-apiserver.
func TestRecordedDefinitions(t *testing.T) {
	t.Parallel()
	steps, k := golden.Steps(t, "crd.json"), newKind()
	network, status := write(t, k, form(steps[0]), []byte(steps[0].Body), nil)
	if status != nil {
		t.Fatal(status.Message)
	}
	if !Establish(network, func(NameScope, string) bool { return false }, metav1.Now()) {
		t.Fatal("the definition is not established")
	}
	for i, s := range steps {
		if !strings.Contains(s.Path, "/customresourcedefinitions") || s.Method != "POST" && s.Method != "PATCH" ||
			form(s).APIVersion == legacy {
			continue
		}
		t.Run(fmt.Sprintf("crd.json[%d]", i), func(t *testing.T) {
			var old *definition
			body := []byte(s.Body)
			if s.Method == "PATCH" {
				old = network
				body = patched(t, k, network, body)
			}
			crd, status := write(t, k, form(s), body, old)
			compare(t, s.Response.JSON(t), answer(t, k, crd, status))
		})
	}
}

// patched applies a merge patch to a definition.
func patched(t *testing.T, k kind.Kind, crd *definition, patch []byte) []byte {
	t.Helper()
	data, err := k.Encode(object.Form{APIVersion: hub}, crd)
	if err != nil {
		t.Fatal(err)
	}
	data, err = jsonpatch.MergePatch(data, patch)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// answer returns the body that the server would send.
func answer(t *testing.T, k kind.Kind, crd *definition, status *metav1.Status) []byte {
	t.Helper()
	if status != nil {
		status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		data, err := json.Marshal(status)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	data, err := k.Encode(object.Form{APIVersion: hub}, crd)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// compare compares a response with the recorded one, ignoring what a server adds and the order of causes.
func compare(t *testing.T, want any, answer []byte) {
	t.Helper()
	var got any
	if err := json.Unmarshal(answer, &got); err != nil {
		t.Fatal(err)
	}
	if want, got := golden.Normalize(want), golden.Normalize(got); !reflect.DeepEqual(want, got) {
		wantJSON, _ := json.Marshal(want)
		gotJSON, _ := json.Marshal(got)
		t.Errorf("\nwant %s\ngot  %s", wantJSON, gotJSON)
	}
}

// TestRecordedStatus compares the status of the established definition with the recorded one.
func TestRecordedStatus(t *testing.T) {
	t.Parallel()
	steps, k := golden.Steps(t, "crd.json"), newKind()
	crd, status := write(t, k, form(steps[0]), []byte(steps[0].Body), nil)
	if status != nil {
		t.Fatal(status.Message)
	}
	Establish(crd, func(NameScope, string) bool { return false }, metav1.Now())
	compare(t, steps[4].Response.JSON(t), answer(t, k, crd, nil))
}

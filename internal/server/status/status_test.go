package status_test

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/server/status"
)

// Webhooks and plugins choose the texts of errors, which clients receive cut.
func TestLongErrorsAreCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	s := status.Of(errors.New(long))
	if len(s.Message) > 300_000 || !strings.HasSuffix(s.Message, "... (786432 more bytes)") {
		t.Errorf("the message has %d bytes and ends in %q", len(s.Message), s.Message[len(s.Message)-40:])
	}
	causes := make([]metav1.StatusCause, 5000)
	for i := range causes {
		causes[i] = metav1.StatusCause{Message: long, Field: long}
	}
	refusal := apierrors.NewForbidden(schema.GroupResource{}, "a", nil)
	refusal.ErrStatus.Details.Causes = causes
	s = status.Of(refusal)
	if n := len(s.Details.Causes); n != 1000 {
		t.Errorf("the Status has %d causes, want 1000", n)
	}
	if c := s.Details.Causes[0]; len(c.Message) > 10_000 || len(c.Field) > 10_000 {
		t.Errorf("a cause has %d and %d bytes", len(c.Message), len(c.Field))
	}
	if causes[0].Message != long || len(refusal.ErrStatus.Details.Causes) != 5000 {
		t.Error("the error itself was changed")
	}
	short := status.Of(errors.New("short"))
	if short.Message != "short" {
		t.Errorf("a short message became %q", short.Message)
	}
}

package doctor

import (
	"context"
	"errors"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// maxCheckText limits how much of a health check's answer is printed.
const maxCheckText = 500

// room finds out whether the server is short of room for objects, or of memory. Only Bowline has these checks.
func (d *doctor) room(ctx context.Context) error {
	for _, check := range []struct{ name, blocker, waiting, help string }{
		{"quota", "the store", "writes that add to what is stored", "delete objects, or restart the server with a " +
			"larger --max-bytes"},
		{"memory", "the server", "requests that need memory", "delete objects and definitions, end watches, or give " +
			"the server more memory"},
	} {
		err := d.client.REST().Get().AbsPath("/readyz/" + check.name).Do(ctx).Error()
		var failed *apierrors.StatusError
		if !errors.As(err, &failed) || failed.ErrStatus.Code != http.StatusInternalServerError {
			continue
		}
		text := failed.Error()
		if d := failed.ErrStatus.Details; d != nil && len(d.Causes) > 0 {
			text = d.Causes[0].Message // the answer itself
		}
		text = strings.TrimPrefix(strings.TrimSpace(text), "internal server error: ")
		text = text[:min(len(text), maxCheckText)]
		d.findings = append(d.findings, finding{Blocker: check.blocker, Problem: "is nearly full: " + text,
			Waiting: []string{check.waiting}, Help: check.help})
	}
	return ctx.Err()
}

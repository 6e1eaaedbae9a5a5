package connect

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bowline-dev/bowline/internal/server/request"
)

// maxErrorText is how much of the text of a kubelet's error a client receives, in bytes.
const maxErrorText = 50000

// streamLog answers with the log of a container. It follows no redirect: a kubelet could make the server send its
// certificate anywhere.
func streamLog(w http.ResponseWriter, r *http.Request, req *request.Request, to *target) error {
	out, err := http.NewRequestWithContext(r.Context(), http.MethodGet, to.url.String(), nil)
	if err != nil {
		return err
	}
	answer, err := to.up.Transport.RoundTrip(out)
	if err != nil {
		//lint:ignore ST1005 it is Kubernetes' message
		return fmt.Errorf("Get %q: %w", to.url.String(), err)
	}
	defer answer.Body.Close()
	if err := checkLog(answer, req); err != nil {
		return err
	}
	header := w.Header()
	header.Set("Cache-Control", "no-cache, private")
	header.Set("Content-Type", "text/plain")
	w.WriteHeader(http.StatusOK)
	if to.follow {
		w = flushing{w, http.NewResponseController(w)}
		w.Write(nil)
	}
	io.Copy(onlyWriter{w}, answer.Body) // an error means that one end is gone
	return nil
}

// checkLog returns the error of an answer without a log.
func checkLog(answer *http.Response, req *request.Request) error {
	if answer.StatusCode >= http.StatusOK && answer.StatusCode <= http.StatusPartialContent {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxErrorText))
	switch {
	case err != nil:
		return apierrors.NewInternalError(err)
	case answer.StatusCode >= http.StatusMultipleChoices && answer.StatusCode < http.StatusBadRequest:
		return errors.New("redirects forbidden")
	case answer.StatusCode == http.StatusInternalServerError:
		return apierrors.NewInternalError(errors.New(string(text)))
	case answer.StatusCode == http.StatusBadRequest:
		return apierrors.NewBadRequest(string(text))
	}
	of := req.Resource()
	of.Resource += "/" + req.Subresource
	return apierrors.NewGenericServerResponse(answer.StatusCode, "", of, req.Name, string(text), 0, false)
}

// flushing sends each write to the client at once.
type flushing struct {
	http.ResponseWriter
	rc *http.ResponseController
}

// Write implements io.Writer.
func (f flushing) Write(p []byte) (int, error) {
	n, err := f.ResponseWriter.Write(p)
	if err == nil {
		err = f.rc.Flush()
	}
	return n, err
}

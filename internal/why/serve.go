package why

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Path is where servers serve a journal. It is not the path of an API resource: the server decides who may
// read it.
const Path = "/bowline/why"

// ServeHTTP responds to
//
//	GET ?resource=networks&group=samplecrd.k8s.io&namespace=default&name=a&limit=20
//
// with a Report as JSON, about everything if no resource is given. A POST with a Delivery records runs. It
// does not authenticate clients.
func (j *Journal) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		j.serveReport(w, r)
	case http.MethodPost:
		j.serveDelivery(w, r)
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		refuse(w, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
			"read with GET, or send runs with POST")
	}
}

func (j *Journal) serveReport(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	about := Object{Group: q.Get("group"), Resource: q.Get("resource"), Namespace: q.Get("namespace"),
		Name: q.Get("name")}
	limit := 0
	if text := q.Get("limit"); text != "" {
		var err error
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 {
			refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest,
				fmt.Sprintf("limit=%q: is not a positive number", text))
			return
		}
	}
	if about != (Object{}) && (about.Resource == "" || about.Name == "") {
		refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest,
			"an object needs resource= and name=; leave all out to ask about everything")
		return
	}
	answer(w, http.StatusOK, j.Report(about, limit))
}

func (j *Journal) serveDelivery(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		refuse(w, http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge,
			fmt.Sprintf("a request body is at most %d bytes: send fewer runs at once", maxBody))
		return
	case err != nil && r.Context().Err() != nil:
		refuse(w, http.StatusGatewayTimeout, metav1.StatusReasonTimeout, "the request did not complete within its time")
		return
	case err != nil:
		refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, "reading the runs: "+err.Error())
		return
	}
	d, err := readDelivery(body)
	if err == nil {
		err = d.Check(time.Now())
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, "invalid runs: "+err.Error())
		return
	}
	j.Take(d.Runs)
	answer(w, http.StatusOK, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status: metav1.StatusSuccess})
}

// readDelivery decodes each run on its own, so that an error can name the run.
func readDelivery(body []byte) (d Delivery, err error) {
	var raw struct {
		Runs []json.RawMessage `json:"runs"`
	}
	if err := json.Unmarshal(body, &raw); err != nil {
		return d, err
	}
	d.Runs = make([]Run, len(raw.Runs))
	for k, text := range raw.Runs {
		if err := json.Unmarshal(text, &d.Runs[k]); err != nil {
			return d, fmt.Errorf("runs[%d]: %w", k, err)
		}
	}
	return d, nil
}

func refuse(w http.ResponseWriter, code int32, reason metav1.StatusReason, message string) {
	answer(w, int(code), metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	})
}

func answer(w http.ResponseWriter, code int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	w.Write(append(body, '\n'))
}

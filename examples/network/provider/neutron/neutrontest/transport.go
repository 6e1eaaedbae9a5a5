package neutrontest

import (
	"net/http"
	"net/http/httptest"
)

// InProcess returns a transport that calls a handler directly, which also works in a synctest bubble.
func InProcess(handler http.Handler) http.RoundTripper { return inProcess{handler} }

type inProcess struct{ http.Handler }

// RoundTrip implements http.RoundTripper.
func (t inProcess) RoundTrip(q *http.Request) (*http.Response, error) {
	if err := q.Context().Err(); err != nil {
		return nil, err
	}
	served := q.Clone(q.Context())
	if served.Body == nil {
		served.Body = http.NoBody
	}
	served.Host = q.URL.Host
	defer served.Body.Close()
	recorder := httptest.NewRecorder()
	t.ServeHTTP(recorder, served)
	response := recorder.Result()
	response.Request = q
	return response, nil
}

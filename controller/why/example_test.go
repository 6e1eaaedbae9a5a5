package why_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/controller/why"
)

// A program serves the journal of its own controllers, for bowline why.
func Example() {
	journal := why.New(why.Options{Runs: 1000})
	mux := http.NewServeMux() // in a program behind authentication: the journal has none
	mux.Handle(why.Path, journal)

	config := &rest.Config{Host: "https://localhost:6443"}
	m, err := controller.NewManager(config, controller.ManagerOptions{Journal: journal})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("recording:", m.Journal() == journal)

	answer := httptest.NewRecorder()
	query := "?resource=configmaps&namespace=default&name=settings"
	mux.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, why.Path+query, nil))
	fmt.Println(answer.Code)
	// Output:
	// recording: true
	// 200
}

package controller_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	v1 "github.com/bowline-dev/bowline/examples/network/apis/samplecrd/v1"
	"github.com/bowline-dev/bowline/examples/network/provider/neutron/neutrontest"
)

func TestMain(m *testing.M) { os.Exit(neutrontest.Main(m)) }

// outside takes requests out of bubbles, to where there is a network: a bubble's time stands still meanwhile. Channels of a
// bubble cannot be used outside of it, but those from outside can be used in it, so that all of them are made here.
type outside struct {
	errands chan errand
	answers chan chan answer // that are free
}

type errand struct {
	request *http.Request
	done    chan answer
}

type answer struct {
	response *http.Response
	err      error
}

func newOutside(t *testing.T) outside {
	t.Helper()
	const atOnce = 16
	o := outside{make(chan errand), make(chan chan answer, atOnce)}
	transport := &http.Transport{MaxIdleConnsPerHost: atOnce}
	for range atOnce {
		o.answers <- make(chan answer)
		go func() {
			for e := range o.errands {
				e.done <- whole(transport.RoundTrip(e.request))
			}
		}()
	}
	t.Cleanup(func() {
		close(o.errands)
		transport.CloseIdleConnections()
	})
	return o
}

// whole is an answer that has been read.
func whole(response *http.Response, err error) answer {
	if err != nil {
		return answer{nil, err}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	response.Body = io.NopCloser(bytes.NewReader(body))
	return answer{response, err}
}

// RoundTrip implements http.RoundTripper.
func (o outside) RoundTrip(q *http.Request) (*http.Response, error) {
	there := q.Clone(context.Background())
	if q.Body != nil {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			return nil, err
		}
		there.Body = io.NopCloser(bytes.NewReader(body))
	}
	done := <-o.answers
	defer func() { o.answers <- done }()
	o.errands <- errand{there, done}
	a := <-done
	if a.err == nil {
		a.response.Request = q
	}
	return a.response, a.err
}

// makeAndRemove has one network made and removed again.
func makeAndRemove(ctx context.Context, config *rest.Config) error {
	networks, err := networksOf(config)
	if err != nil {
		return err
	}
	n := &v1.Network{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"},
		Spec:       v1.NetworkSpec{CIDR: "192.168.0.0/16", Gateway: "192.168.0.1"},
	}
	if _, err := networks.Create(ctx, n, metav1.CreateOptions{}); err != nil {
		return err
	}
	time.Sleep(5 * time.Second)
	return networks.Delete(ctx, "default", "a", metav1.DeleteOptions{})
}

// A real Neutron is slow, so that only some of the faults are tried with it, which the seed chooses.
func TestOnARealNeutronNetworksAreAsDeclaredWhateverGoesWrong(t *testing.T) {
	t.Parallel()
	server := neutrontest.ForTest(t)
	way := newOutside(t)
	s := neutronScenario(nil, makeAndRemove)
	s.World = func() any {
		return &cloud{
			url: server.URL, project: strings.ToLower(rand.Text()), transport: way,
			fails: status(http.StatusInternalServerError), poll: 10 * time.Minute,
		}
	}
	s.Invariants = nil // each of them asks Neutron after every commit
	s.Settle = 2 * time.Minute
	s.Faults = []bowlinetest.Fault{bowlinetest.CrashBefore, bowlinetest.CrashAfter, bowlinetest.Refused, bowlinetest.Lost}
	s.Budget = 28
	if r := bowlinetest.Explore(t, s); r.Tried() < 2*r.Runs/3 {
		t.Errorf("only %d fault points were tried in %d runs", r.Tried(), r.Runs)
	}
}

package controller_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/bowline-dev/bowline/examples/network/apis/samplecrd/v1"
)

// outage returns failures with texts that differ each time: in port, request id and time.
func outage() func(*http.Request) (*http.Response, error) {
	var mu sync.Mutex
	n := 0
	return func(q *http.Request) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		n++
		switch n % 3 {
		case 0:
			return nil, fmt.Errorf("read tcp 127.0.0.1:%d->127.0.0.1:9696: connection reset by peer at %v", 40000+n,
				time.Now())
		case 1:
			return nil, io.ErrUnexpectedEOF
		}
		header := http.Header{"X-Openstack-Request-Id": {fmt.Sprint("req-", n)}}
		return &http.Response{StatusCode: http.StatusServiceUnavailable, Header: header,
			Body: io.NopCloser(strings.NewReader(fmt.Sprint("try later ", n))), Request: q}, nil
	}
}

func TestNeutronOutage(t *testing.T) {
	withFixture(t, func(w *fixture) {
		g := &fakeNeutron{}
		w.define()
		defer w.runNeutron(g).stop()
		w.declare("before", "192.168.0.0/16", "192.168.0.1")
		waitIdle()
		made := w.expectReady(w.get(v1.SchemeGroupVersion, "before"), metav1.ConditionTrue, v1.ReasonProvisioned)
		if !strings.HasPrefix(made, "192.168.0.0/16 with gateway 192.168.0.1, Neutron network ") {
			w.Errorf("got the message %q", made)
		}

		g.setAnswers(outage())
		var uids []string
		for n := range 10 {
			uids = append(uids, string(w.declare(fmt.Sprint("n", n), "192.168.0.0/16", "192.168.0.1").UID))
		}
		waitIdle()
		first := w.get(v1.SchemeGroupVersion, "n1")
		if m := w.expectReady(first, metav1.ConditionFalse,
			v1.ReasonUnreachable); m != "Neutron at http://neutron.fake/ does not answer, retrying" {
			w.Errorf("got the message %q", m)
		}
		g.setAnswers(outage())
		time.Sleep(50 * time.Minute)
		if requests := g.setAnswers(nil); requests > 50*(2*len(uids)+5) || requests < 50 {
			w.Errorf("in 50 minutes of outage there were %d requests", requests)
		}
		if now := w.get(v1.SchemeGroupVersion, "n1"); now.ResourceVersion != first.ResourceVersion {
			w.Error("the status was written repeatedly")
		}
		if got := w.events(first.UID); !slices.Equal(got, []string{"Warning Unreachable"}) {
			w.Errorf("got events %q", got)
		}

		time.Sleep(2 * time.Minute)
		for n := range 10 {
			w.expectReady(w.get(v1.SchemeGroupVersion, fmt.Sprint("n", n)), metav1.ConditionTrue, v1.ReasonProvisioned)
		}
		if actual := g.networksBehind(w); len(actual) != 11 {
			w.Errorf("got Neutron networks %v, want each once", actual)
		}
	})
}

func TestDeletionWaitsForPorts(t *testing.T) {
	withFixture(t, func(w *fixture) {
		g := &fakeNeutron{}
		w.define()
		defer w.runNeutron(g).stop()
		n := w.declare("a", "192.168.0.0/16", "192.168.0.1")
		waitIdle()
		_, id, _ := strings.Cut(w.expectReady(w.get(v1.SchemeGroupVersion, "a"), metav1.ConditionTrue,
			v1.ReasonProvisioned), "Neutron network ")
		user := g.Client("project")
		port, err := ports.Create(w.Context(), user,
			ports.CreateOpts{NetworkID: id, DeviceOwner: "compute:nova", DeviceID: "server-1"}).Extract()
		if err != nil {
			w.Fatal(err)
		}

		w.delete(v1.SchemeGroupVersion, "a")
		waitIdle()
		held := w.get(v1.SchemeGroupVersion, "a")
		want := fmt.Sprintf("network %s cannot be removed: it has 1 port, %s (of compute:nova server-1). The controller "+
			"continues when they are removed",
			"bowline."+planeID+"."+string(n.UID), port.ID)
		if m := w.expectReady(held, metav1.ConditionFalse, v1.ReasonInUse); m != want {
			w.Errorf("got the message %q, want %q", m, want)
		}
		g.setAnswers(nil)
		time.Sleep(50 * time.Minute)
		if requests := g.setAnswers(nil); requests > 50*10 {
			w.Errorf("in 50 minutes there were %d requests", requests)
		}
		if now := w.get(v1.SchemeGroupVersion, "a"); now.ResourceVersion != held.ResourceVersion ||
			len(now.Finalizers) != 1 {
			w.Errorf("after 50 minutes the object has the finalizers %q, or was written to", now.Finalizers)
		}
		if err := ports.Delete(w.Context(), user, port.ID).ExtractErr(); err != nil {
			w.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		if _, err := w.networks(v1.SchemeGroupVersion).Get(w.Context(), "default", "a"); !apierrors.IsNotFound(err) {
			w.Errorf("the object still exists: %v", err)
		}
		if actual := g.networksBehind(w); len(actual) > 0 {
			w.Errorf("Neutron still has %v", actual)
		}
		if got := w.events(n.UID); !slices.Equal(got, []string{"Normal Created", "Warning InUse", "Normal Deleted"}) {
			w.Errorf("got events %q", got)
		}
	})
}

// The network is edited during each of the requests that create it.
func TestEditDuringCreation(t *testing.T) {
	t.Parallel()
	for at, request := range []string{"GET networks", "GET subnets", "POST networks", "POST subnets"} {
		t.Run(request, func(t *testing.T) {
			withFixture(t, func(w *fixture) {
				g := &fakeNeutron{}
				w.define()
				defer w.runNeutron(g).stop()
				waitIdle()
				method, collection, _ := strings.Cut(request, " ")
				edit := sync.OnceFunc(func() {
					w.patch(v1.SchemeGroupVersion, "a", `{"spec":{"cidr":"10.0.0.0/8","gateway":"10.0.0.9"}}`)
					time.Sleep(time.Second) // until the controller has received the change
				})
				g.setAnswers(func(q *http.Request) (*http.Response, error) {
					if q.Method == method && strings.HasSuffix(q.URL.Path, collection) {
						edit()
					}
					return nil, nil
				})
				n := w.declare("a", "192.168.0.0/16", "192.168.0.1")
				waitIdle()
				name := "bowline." + planeID + "." + string(n.UID)
				want := []real{{true, []string{"10.0.0.0/8 with gateway 10.0.0.9, " + name}}}
				if actual := g.networksBehind(w); len(actual) != 1 || fmt.Sprint(actual[name]) != fmt.Sprint(want) {
					w.Errorf("edit %d: got %v, want %v", at, actual, want)
				}
				got := w.get(v1.SchemeGroupVersion, "a")
				if m := w.expectReady(got, metav1.ConditionTrue, v1.ReasonProvisioned); !strings.HasPrefix(m,
					"10.0.0.0/8 with gateway 10.0.0.9,") ||
					got.Status.ObservedGeneration != got.Generation {
					w.Errorf("got status %+v", got.Status)
				}
			})
		})
	}
}

func TestNeutronRefusalsHaveReasons(t *testing.T) {
	t.Parallel()
	refuse := func(status int, kind, message string) func(*http.Request) (*http.Response, error) {
		return func(q *http.Request) (*http.Response, error) {
			if q.Method == http.MethodGet && status != http.StatusUnauthorized {
				return nil, nil
			}
			body := fmt.Sprintf(`{"NeutronError": {"type": %q, "message": %q, "detail": ""}}`, kind, message)
			return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Request: q}, nil
		}
	}
	for reason, answer := range map[string]func(*http.Request) (*http.Response, error){
		v1.ReasonUnauthorized:  refuse(401, "", ""),
		v1.ReasonQuotaExceeded: refuse(409, "OverQuota", "Quota exceeded for resources: ['network']."),
		v1.ReasonNotConfigured: refuse(503, "NoNetworkAvailable", "No tenant network is available for allocation."),
		v1.ReasonRefused:       refuse(400, "InvalidInput", "Invalid input for operation."),
		v1.ReasonProviderError: refuse(500, "HTTPInternalServerError", "Request Failed."),
		v1.ReasonUnreachable: func(*http.Request) (*http.Response, error) {
			return nil, errors.New("connection refused")
		},
	} {
		t.Run(reason, func(t *testing.T) {
			withFixture(t, func(w *fixture) {
				g := &fakeNeutron{}
				g.setAnswers(answer)
				w.define()
				defer w.runNeutron(g).stop()
				w.declare("a", "192.168.0.0/16", "192.168.0.1")
				waitIdle()
				first := w.get(v1.SchemeGroupVersion, "a")
				w.expectReady(first, metav1.ConditionFalse, reason)
				time.Sleep(time.Hour)
				if now := w.get(v1.SchemeGroupVersion, "a"); now.ResourceVersion != first.ResourceVersion {
					w.Error("the status was written repeatedly")
				}
				g.setAnswers(nil)
				time.Sleep(2 * time.Minute)
				w.expectReady(w.get(v1.SchemeGroupVersion, "a"), metav1.ConditionTrue, v1.ReasonProvisioned)
			})
		})
	}
}

// Networks may overlap. If the spec changes to a range that Neutron does not support, the real network
// remains as it is.
func TestOverlappingAndUnsupportedRanges(t *testing.T) {
	withFixture(t, func(w *fixture) {
		g := &fakeNeutron{}
		w.define()
		defer w.runNeutron(g).stop()
		w.declare("a", "192.168.0.0/16", "192.168.0.1")
		w.declare("b", "192.168.0.0/24", "192.168.0.1")
		waitIdle()
		before := g.networksBehind(w)
		for _, name := range []string{"a", "b"} {
			w.expectReady(w.get(v1.SchemeGroupVersion, name), metav1.ConditionTrue, v1.ReasonProvisioned)
		}
		w.patch(v1.SchemeGroupVersion, "a", `{"spec":{"cidr":"127.0.0.0/8","gateway":"127.0.0.1"}}`)
		waitIdle()
		want := "Neutron supports no subnet 127.0.0.0/8, because its addresses are loopback: declare another spec.cidr"
		if m := w.expectReady(w.get(v1.SchemeGroupVersion, "a"), metav1.ConditionFalse, v1.ReasonRefused); m != want {
			w.Errorf("got the message %q", m)
		}
		if after := g.networksBehind(w); fmt.Sprint(after) != fmt.Sprint(before) || len(after) != 2 {
			w.Errorf("the network changed from %v to %v", before, after)
		}
	})
}

// The controller's own writes cause no further reads.
func TestCreationTakesFourRequests(t *testing.T) {
	withFixture(t, func(w *fixture) {
		g := &fakeNeutron{}
		w.define()
		defer w.runNeutron(g).stop()
		waitIdle()
		g.setAnswers(nil)
		w.declare("a", "192.168.0.0/16", "192.168.0.1")
		waitIdle()
		if requests := g.setAnswers(nil); requests != 4 { // two reads that find nothing, and two writes
			w.Errorf("creating a network took %d requests, want 4", requests)
		}
		synctest.Wait()
	})
}

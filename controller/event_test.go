package controller

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/object"
)

// eventServer stores events, with the features that a recorder needs.
type eventServer struct {
	mu     sync.Mutex
	events map[string]*corev1.Event
	down   bool
	lost   bool // the next answer is
	writes int
}

func (s *eventServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return nil, fmt.Errorf("connection refused")
	}
	s.writes++
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	event, status := &corev1.Event{}, http.StatusCreated
	if r.Method == http.MethodPatch {
		status = http.StatusOK
		event = s.events[r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]]
	}
	if event == nil {
		return respond(http.StatusNotFound,
			[]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)), nil
	}
	if err := readEvent(body, event); err != nil {
		return nil, err
	}
	event.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Event"}
	if r.Method == http.MethodPost && s.events[event.Name] != nil {
		return respond(http.StatusConflict,
			[]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"AlreadyExists","code":409}`)), nil
	}
	s.events[event.Name] = event
	if s.lost {
		s.lost = false
		return nil, fmt.Errorf("connection reset")
	}
	body, err = json.Marshal(event)
	return respond(status, body), err
}

// readEvent decodes a request: an event in protobuf or JSON, or a patch in JSON.
func readEvent(body []byte, event *corev1.Event) error {
	if !bytes.HasPrefix(body, []byte(object.ProtobufMagic)) {
		return json.Unmarshal(body, event)
	}
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(body[len(object.ProtobufMagic):]); err != nil {
		return err
	}
	return event.Unmarshal(envelope.Raw)
}

func respond(status int, body []byte) *http.Response {
	return &http.Response{
		StatusCode: status,
		Header:     http.Header{"Content-Type": {"application/json"}},
		Body:       io.NopCloser(strings.NewReader(string(body))),
	}
}

// recording runs a recorder on a server in a bubble.
func recording(t *testing.T, test func(r *Recorder, s *eventServer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &eventServer{events: map[string]*corev1.Event{}}
		c, err := client.New(&rest.Config{Host: "http://test", Transport: s, QPS: -1})
		if err != nil {
			t.Fatal(err)
		}
		r := newRecorder(c, "tester", slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { r.run(ctx) })
		test(r, s)
		cancel()
		running.Wait()
	})
}

// only returns the only event.
func (s *eventServer) only(t *testing.T) *corev1.Event {
	t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.events) != 1 {
		t.Fatalf("got %d events, want 1", len(s.events))
	}
	for _, event := range s.events {
		return event
	}
	return nil
}

var pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u1"}}

func TestEventFields(t *testing.T) {
	t.Parallel()
	recording(t, func(r *Recorder, s *eventServer) {
		r.Warning(pod, "Broken", "it broke %d times", 3)
		e := s.only(t)
		if e.Namespace != "ns" || !strings.HasPrefix(e.Name, "p.") || e.Type != "Warning" || e.Reason != "Broken" ||
			e.Message != "it broke 3 times" || e.Count != 1 || e.Source.Component != "tester" {
			t.Errorf("got %+v", e)
		}
		if o := e.InvolvedObject; o.Kind != "Pod" || o.Name != "p" || o.Namespace != "ns" || o.UID != "u1" {
			t.Errorf("got the reference %+v", o)
		}
	})
}

func TestClusterScopedEventIsInDefaultNamespace(t *testing.T) {
	t.Parallel()
	recording(t, func(r *Recorder, s *eventServer) {
		r.Normal(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, "Seen", "here")
		if e := s.only(t); e.Namespace != "default" || e.InvolvedObject.Namespace != "" {
			t.Errorf("got %+v", e)
		}
	})
}

func TestRepeatedEventIsCounted(t *testing.T) {
	t.Parallel()
	recording(t, func(r *Recorder, s *eventServer) {
		r.Normal(pod, "Synced", "done")
		first := s.only(t).FirstTimestamp
		for range 9 {
			time.Sleep(time.Minute)
			r.Normal(pod, "Synced", "done")
		}
		e := s.only(t)
		if e.Count != 10 || e.LastTimestamp.Sub(first.Time) != 9*time.Minute || !e.FirstTimestamp.Equal(&first) {
			t.Errorf("got count %d from %v to %v", e.Count, e.FirstTimestamp, e.LastTimestamp)
		}
	})
}

func TestDeletedEventIsRecreated(t *testing.T) {
	t.Parallel()
	recording(t, func(r *Recorder, s *eventServer) {
		r.Normal(pod, "Synced", "done")
		s.only(t)
		s.mu.Lock()
		clear(s.events)
		s.mu.Unlock()
		r.Normal(pod, "Synced", "done")
		if e := s.only(t); e.Count != 1 {
			t.Errorf("got count %d", e.Count)
		}
	})
}

func TestRecorderNeverBlocksAndIsBounded(t *testing.T) {
	t.Parallel()
	recording(t, func(r *Recorder, s *eventServer) {
		s.mu.Lock()
		s.down = true
		s.mu.Unlock()
		for n := range 5000 {
			r.Normal(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("p", n)}}, "Different",
				"number %d", n)
			r.Normal(pod, "Different", "number 0")
		}
		r.mu.Lock()
		waiting := len(r.waiting)
		r.mu.Unlock()
		if waiting != maxPending {
			t.Errorf("got %d pending events, want %d", waiting, maxPending)
		}
	})
}

func TestEventIsRetriedDuringOutage(t *testing.T) {
	t.Parallel()
	recording(t, func(r *Recorder, s *eventServer) {
		s.mu.Lock()
		s.down = true
		s.mu.Unlock()
		r.Normal(pod, "Synced", "done")
		synctest.Wait()
		s.mu.Lock()
		s.down = false
		s.mu.Unlock()
		time.Sleep(10 * time.Second)
		s.only(t)
	})
}

func TestLostAnswerCreatesOneEvent(t *testing.T) {
	t.Parallel()
	recording(t, func(r *Recorder, s *eventServer) {
		s.lost = true
		r.Normal(pod, "Synced", "done")
		time.Sleep(time.Minute)
		r.Normal(pod, "Synced", "done")
		if e := s.only(t); e.Count != 2 {
			t.Errorf("got count %d, want 2", e.Count)
		}
	})
}

func TestEventMessageIsTruncatedBetweenCharacters(t *testing.T) {
	t.Parallel()
	recording(t, func(r *Recorder, s *eventServer) {
		r.Normal(pod, "Synced", "%s", strings.Repeat("語", 1000))
		if e := s.only(t); e.Message != strings.Repeat("語", 341) {
			t.Errorf("got %d bytes, %q at the end", len(e.Message), e.Message[len(e.Message)-6:])
		}
	})
}

// TestSimilarEventsAreAggregated records events of one reason with different messages, like the test of client-go's
// correlator.
func TestSimilarEventsAreAggregated(t *testing.T) {
	t.Parallel()
	recording(t, func(r *Recorder, s *eventServer) {
		for n := range 15 {
			r.Warning(pod, "Failed", "attempt %d", n)
			time.Sleep(time.Second)
		}
		r.Warning(pod, "Other", "attempt 15")
		synctest.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		counts := map[string]int32{}
		for _, event := range s.events {
			counts[event.Reason+": "+event.Message] = event.Count
		}
		if n := counts["Failed: (combined from similar events): attempt 14"]; len(counts) != 11 || n != 6 ||
			counts["Other: attempt 15"] != 1 {
			t.Errorf("got %d events, want 9 single ones, one for the other six, one of another reason: %v", len(counts),
				counts)
		}
	})
}

func TestRareSimilarEventsAreNotAggregated(t *testing.T) {
	t.Parallel()
	recording(t, func(r *Recorder, s *eventServer) {
		for n := range 15 {
			r.Warning(pod, "Failed", "attempt %d", n)
			time.Sleep(similarInterval + time.Second)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.events) != 15 {
			t.Errorf("got %d events, want 15", len(s.events))
		}
	})
}

// TestOneObjectCannotFloodTheServer records events of one object without end, and one of another.
func TestOneObjectCannotFloodTheServer(t *testing.T) {
	t.Parallel()
	recording(t, func(r *Recorder, s *eventServer) {
		for range 1000 {
			r.Normal(pod, "Synced", "done")
			time.Sleep(time.Millisecond)
		}
		r.Normal(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "quiet"}}, "Synced", "done")
		count := func() (n int32) {
			synctest.Wait()
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, event := range s.events {
				n += event.Count
			}
			return n
		}
		if n := count(); n != eventBurst+1 {
			t.Errorf("got %d events, want %d", n, eventBurst+1)
		}
		time.Sleep(time.Hour)
		for range 1000 {
			r.Normal(pod, "Synced", "done")
		}
		if n := count(); n != eventBurst+1+12 {
			t.Errorf("got %d events after an hour, want %d", n, eventBurst+1+12)
		}
	})
}

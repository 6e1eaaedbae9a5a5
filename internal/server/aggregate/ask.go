package aggregate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/transport"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/server/discovery"
	"github.com/bowline-dev/bowline/internal/server/openapi"
)

const (
	// askInterval is how often an available server is asked, and firstRetry the delay after its first failure, which
	// doubles until it is askInterval.
	askInterval = 30 * time.Second
	firstRetry  = time.Second
	// askTimeout is how long a server may take to answer.
	askTimeout = 5 * time.Second
	// maxAsked is the maximum number of endpoints that are asked at once.
	maxAsked = 3
	// maxAnswer is the maximum length of an answer, in bytes.
	maxAnswer = 1 << 20
)

// aggregatorName is the user in this server's own requests to others. Its group, system:masters, authorizes them.
const aggregatorName = "system:kube-aggregator"

// ask asks the server until the backend stops, and writes the condition Available.
func (b *Backend) ask() {
	delay := firstRetry
	for {
		now := b.check()
		if b.ctx.Err() != nil {
			return
		}
		b.available.Store(&now)
		b.publish()
		err := b.report(now)
		if err != nil && b.ctx.Err() == nil {
			b.o.Log.Error("the condition of an APIService cannot be written; trying again", "APIService", b.service.Name,
				"error", err)
		}
		wait := min(delay, askInterval)
		delay *= 2
		if err == nil && now.status == apiregistrationv1.ConditionTrue {
			wait, delay = askInterval, firstRetry
		}
		timer := time.NewTimer(wait)
		select {
		case <-b.wake:
		case <-timer.C:
		case <-b.ctx.Done():
		}
		timer.Stop()
	}
}

// check returns the condition of the server now, and stores what the server answers.
func (b *Backend) check() condition {
	found := b.found.Load()
	if len(found.addresses) == 0 {
		b.setStale()
		return found.condition
	}
	resources, err := b.list()
	if err != nil {
		b.setStale()
		b.up.Transport.CloseIdleConnections()
		return condition{apiregistrationv1.ConditionFalse, "FailedDiscoveryCheck", err.Error()}
	}
	b.store(resources)
	return condition{apiregistrationv1.ConditionTrue, "Passed", "all checks passed"}
}

// setStale marks what the server answered before as outdated.
func (b *Backend) setStale() {
	before := b.answer.Load()
	if !before.remote.Stale {
		remote := *before.remote
		remote.Stale = true
		b.answer.Store(&answer{&remote, before.document})
	}
}

// store publishes what the server lists. As in Kubernetes, a server that sends something else stays available; it has
// no resources then.
func (b *Backend) store(list *metav1.APIResourceList) {
	before := b.answer.Load()
	remote := *before.remote
	var err error
	if remote.Resources, err = discovery.Resources(list); err != nil {
		b.o.Log.Warn("an aggregated API server lists wrong resources", "APIService", b.service.Name, "error", err)
	}
	remote.Stale = err != nil
	document := b.document()
	next := &answer{before.remote, before.document}
	if !reflect.DeepEqual(&remote, before.remote) {
		next.remote = &remote
	}
	if document == nil || before.document == nil || document.URL != before.document.URL {
		next.document = document
	}
	b.answer.Store(next)
}

// list asks for the resources of the group version. Its error becomes the condition's message.
func (b *Backend) list() (*metav1.APIResourceList, error) {
	body, err := b.get(b.path())
	if err != nil {
		return nil, err
	}
	return readResources(body), nil
}

// readResources decodes a list of resources. It returns an empty list for other text.
func readResources(body []byte) *metav1.APIResourceList {
	list := &metav1.APIResourceList{}
	if json.Unmarshal(body, list) != nil {
		return &metav1.APIResourceList{}
	}
	return list
}

// document asks for the OpenAPI document of the group version; it returns nil if there is none.
func (b *Backend) document() *openapi.Remote {
	body, err := b.get("/openapi/v3")
	if err != nil {
		return nil
	}
	return readIndex(body, strings.TrimPrefix(b.path(), "/"))
}

// readIndex returns the document of a path in an index of OpenAPI documents, or nil if its URL is not that of the path.
func readIndex(body []byte, path string) *openapi.Remote {
	var index struct {
		Paths map[string]struct {
			URL string `json:"serverRelativeURL"`
		} `json:"paths"`
	}
	if json.Unmarshal(body, &index) != nil {
		return nil
	}
	listed := index.Paths[path].URL
	to, err := url.Parse(listed)
	if err != nil || to.Scheme != "" || to.Host != "" || to.Path != "/openapi/v3/"+path {
		return nil
	}
	return &openapi.Remote{Path: path, URL: listed, Hash: to.Query().Get("hash")}
}

// get sends a request as the aggregator to some addresses of the server, and returns the body of the first good answer:
// one endpoint that fails does not make the server unavailable.
func (b *Backend) get(path string) ([]byte, error) {
	if b.upError != nil {
		return nil, b.upError
	}
	addresses := slices.Clone(b.found.Load().addresses)
	rand.Shuffle(len(addresses), func(i, j int) { addresses[i], addresses[j] = addresses[j], addresses[i] })
	addresses = addresses[:min(len(addresses), maxAsked)]
	var asking sync.WaitGroup
	defer asking.Wait()
	ctx, cancel := context.WithTimeout(b.ctx, askTimeout)
	defer cancel()
	type result struct {
		body []byte
		err  error
	}
	results := make(chan result, len(addresses))
	for _, address := range addresses {
		asking.Go(func() {
			body, err := b.getFrom(ctx, "https://"+address+path)
			results <- result{body, err}
		})
	}
	err := errors.New("the server has no address")
	for range addresses {
		r := <-results
		if r.err == nil {
			return r.body, nil
		}
		err = r.err
	}
	return nil, err
}

// getFrom sends a request as the aggregator, and returns the body of the answer.
func (b *Backend) getFrom(ctx context.Context, to string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, to, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	transport.SetAuthProxyHeaders(request, aggregatorName, "", []string{auth.AdminGroup}, nil)
	answer, err := b.up.Transport.RoundTrip(request) // follows no redirect
	if err != nil {
		return nil, fmt.Errorf("failing or missing response from %s: %w", to, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode < http.StatusOK || answer.StatusCode >= http.StatusMultipleChoices {
		return nil, fmt.Errorf("failing or missing response from %s: bad status from %s: %d", to, to, answer.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	if err == nil && len(body) > maxAnswer {
		err = fmt.Errorf("the answer is longer than %d bytes", maxAnswer)
	}
	if err == nil {
		err = kind.CheckJSON(body)
	}
	if err != nil {
		return nil, fmt.Errorf("failing or missing response from %s: %w", to, err)
	}
	return body, nil
}

// report writes the condition into the status of the APIService if it differs. It writes nothing once the APIService is
// no longer the backend's.
func (b *Backend) report(now condition) error {
	obj, err := b.o.Reader.Get(b.ctx, resource.GroupResource(), "", b.service.Name)
	s, _ := obj.(*apiregistrationv1.APIService)
	if err != nil || s == nil || s.UID != b.service.UID {
		return err
	}
	s = s.DeepCopy()
	if !set(s, now) {
		return nil
	}
	_, err = b.apiServices.UpdateStatus(b.ctx, s, metav1.UpdateOptions{})
	if errors.Is(err, context.Canceled) || unlessOutdated(err) == nil {
		if err != nil {
			b.askNow() // on the new state
		}
		return nil
	}
	return err
}

// set sets the condition Available, and reports whether it changed.
func set(s *apiregistrationv1.APIService, now condition) bool {
	next := apiregistrationv1.APIServiceCondition{
		Type: apiregistrationv1.Available, Status: now.status, LastTransitionTime: metav1.Now(),
		Reason: now.reason, Message: now.message,
	}
	for i := range s.Status.Conditions {
		c := &s.Status.Conditions[i]
		if c.Type != next.Type {
			continue
		}
		if c.Status == next.Status {
			next.LastTransitionTime = c.LastTransitionTime
		}
		changed := *c != next
		*c = next
		return changed
	}
	s.Status.Conditions = append(s.Status.Conditions, next)
	return true
}

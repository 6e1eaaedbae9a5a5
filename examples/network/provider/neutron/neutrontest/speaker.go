package neutrontest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
)

// scriptRunner sends the requests of a script, in projects of its own.
type scriptRunner struct {
	clients map[string]*gophercloud.ServiceClient // by name in the script
	project string                                // of the client member
	ids     []string                              // of the created objects, in order
}

func newScriptRunner(newClient func(project, role string) *gophercloud.ServiceClient) *scriptRunner {
	s := &scriptRunner{project: strings.ToLower(rand.Text())}
	s.clients = map[string]*gophercloud.ServiceClient{
		"member": newClient(s.project, Member), "other": newClient(s.project+"-other", Member),
		"admin": newClient(s.project+"-admin", Admin), "nobody": newClient("", ""),
	}
	s.clients["nobody"].MoreHeaders = nil
	return s
}

var (
	line   = regexp.MustCompile(`^(\w+)> (\S+) (\S+)(?: if (\d+))?(?: ([^|]*\S))?(?: \| (.*))?$`)
	number = regexp.MustCompile(`\$(\d+)`)
)

// ask sends one request and returns the response as one line.
func (s *scriptRunner) ask(ctx context.Context, text string) (string, error) {
	m := line.FindStringSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("not a request: %q", text)
	}
	client := s.clients[m[1]]
	url := strings.TrimSuffix(client.ResourceBaseURL(), "/") + s.real(m[3])
	request, err := http.NewRequestWithContext(ctx, m[2], url, strings.NewReader(s.real(m[5])))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	for name, value := range client.MoreHeaders {
		request.Header.Set(name, value)
	}
	if m[4] != "" {
		request.Header.Set("If-Match", "revision_number="+m[4])
	}
	response, err := client.HTTPClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	if m[2] == http.MethodPost {
		s.learn(body)
	}
	answer := s.stable(body, strings.Fields(m[6]))
	answer = strings.ReplaceAll(answer, strings.TrimSuffix(client.Endpoint, "/"), "{url}")
	return strings.TrimSpace(strconv.Itoa(response.StatusCode) + " " + answer), nil
}

// real replaces the placeholders of a script with their values.
func (s *scriptRunner) real(text string) string {
	text = strings.ReplaceAll(text, "{project}", s.project)
	return number.ReplaceAllStringFunc(text, func(n string) string {
		i, err := strconv.Atoi(n[1:])
		if err != nil || i < 1 || i > len(s.ids) {
			return n
		}
		return s.ids[i-1]
	})
}

// learn assigns the next numbers to the objects that a response contains.
func (s *scriptRunner) learn(body []byte) {
	type object struct{ ID string }
	var one map[string]object
	var several map[string][]object
	if json.Unmarshal(body, &one) == nil {
		several = map[string][]object{}
		for kind, o := range one {
			several[kind] = []object{o}
		}
	} else if json.Unmarshal(body, &several) != nil {
		return
	}
	for _, objects := range several {
		for _, o := range objects {
			if o.ID != "" {
				s.ids = append(s.ids, o.ID)
			}
		}
	}
}

var (
	uuid    = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	instant = regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"`)
	mac     = regexp.MustCompile(`"fa:16:3e(:[0-9a-f]{2}){3}"`)
)

// stable replaces what differs between two runs in a response: IDs, times, the order of lists. Of a body that
// is not JSON it returns the first line.
func (s *scriptRunner) stable(body []byte, fields []string) string {
	if !json.Valid(body) {
		first, _, _ := strings.Cut(string(body), "\n")
		return first
	}
	text := string(body)
	for i, id := range s.ids {
		text = strings.ReplaceAll(text, id, "$"+strconv.Itoa(i+1))
	}
	text = strings.ReplaceAll(text, s.project, "{project}")
	text = uuid.ReplaceAllString(text, "{uuid}")
	text = instant.ReplaceAllString(text, `"{time}"`)
	text = mac.ReplaceAllString(text, `"{mac}"`)
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return err.Error()
	}
	return encode(inOrder(chosen(value, fields)))
}

// chosen removes all other fields from a response with a single object.
func chosen(value any, fields []string) any {
	answer, ok := value.(map[string]any)
	if !ok || len(fields) == 0 {
		return value
	}
	for kind, object := range answer {
		if object, ok := object.(map[string]any); ok && kind != "NeutronError" {
			for field := range object {
				if !slices.Contains(fields, field) {
					delete(object, field)
				}
			}
		}
	}
	return answer
}

// inOrder sorts all lists in a value.
func inOrder(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for k, v := range value {
			value[k] = inOrder(v)
		}
	case []any:
		for i, v := range value {
			value[i] = inOrder(v)
		}
		slices.SortFunc(value, func(a, b any) int { return strings.Compare(encode(a), encode(b)) })
	}
	return value
}

func encode(value any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(out.String())
}

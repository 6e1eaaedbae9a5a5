package neutron

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/bowline-dev/bowline/examples/network/provider"
)

// explain converts an error of Neutron's API into a provider.Problem about network id, or about all networks
// if id is empty. It returns errors that are Problems already unchanged.
func (a *api) explain(err error, id string) error {
	about := "networks"
	if id != "" {
		about = "network " + id
	}
	var problem *provider.Problem
	switch {
	case err == nil, errors.As(err, &problem), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, errConflict):
		return &provider.Problem{
			Reason:  provider.Failed,
			Message: fmt.Sprintf("other clients change %s repeatedly, retrying", about),
			Err:     err,
		}
	}
	reason, message := describe(err, a.client.Endpoint, about)
	return &provider.Problem{Reason: reason, Message: message, Err: err}
}

// describe returns the reason of an error and a sentence about what to do. The sentence contains nothing that
// differs between occurrences.
func describe(err error, endpoint, about string) (provider.Reason, string) {
	var refusal *gophercloud.ErrUnableToReauthenticate
	if errors.As(err, &refusal) {
		return describeRefusal(refusal.ErrReauth, endpoint)
	}
	var code gophercloud.ErrUnexpectedResponseCode
	if errors.As(err, &code) {
		return describeAnswer(code, endpoint, about)
	}
	var noJSON *json.SyntaxError
	var otherJSON *json.UnmarshalTypeError
	if errors.Is(err, errNoNeutron) || errors.As(err, &noJSON) || errors.As(err, &otherJSON) {
		return otherServer(endpoint)
	}
	return provider.Unreachable, fmt.Sprintf("Neutron at %s does not answer, retrying", endpoint)
}

// describeRefusal explains a failed token renewal: either the credentials are invalid, or Keystone does not
// answer.
func describeRefusal(err error, endpoint string) (provider.Reason, string) {
	var code gophercloud.ErrUnexpectedResponseCode
	if errors.As(err, &code) && code.Actual < http.StatusInternalServerError &&
		code.Actual != http.StatusTooManyRequests {
		return unauthorized(endpoint)
	}
	return provider.Unreachable, "Keystone, which authenticates users of Neutron, does not answer, retrying"
}

func otherServer(endpoint string) (provider.Reason, string) {
	return provider.NotConfigured, fmt.Sprintf("the server at %s is not Neutron: check the address", endpoint)
}

func unauthorized(endpoint string) (provider.Reason, string) {
	return provider.Unauthorized, fmt.Sprintf(
		"%s rejects the credentials: check the cloud of OS_CLOUD, or OS_USERNAME, OS_PASSWORD and OS_PROJECT_NAME",
		endpoint)
}

// unavailable are the status codes of a proxy in front of an unavailable or overloaded Neutron.
var unavailable = []int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
	http.StatusGatewayTimeout}

// describeAnswer explains an error response of Neutron.
func describeAnswer(code gophercloud.ErrUnexpectedResponseCode, endpoint, about string) (provider.Reason, string) {
	kind, says := neutronError(code.Body)
	switch {
	case code.Actual == http.StatusUnauthorized:
		return unauthorized(endpoint)
	case code.Actual == http.StatusForbidden:
		return provider.Unauthorized,
			fmt.Sprintf("the credentials lack a permission for %s: request a role that has it (%s)", about, says)
	case kind == "OverQuota":
		return provider.QuotaExceeded, fmt.Sprintf(
			"the project's quota has no room for %s: remove something, or have the quota raised (%s)", about, says)
	case kind == "NoNetworkAvailable":
		return provider.NotConfigured, fmt.Sprintf(
			"Neutron has no free segment for %s: its operator must configure tenant_network_types with free ranges (%s)", about, says)
	case code.Actual == http.StatusNotFound:
		return provider.NotConfigured, fmt.Sprintf(
			"there is no network API at %s: check the address, and that Neutron has a core plugin", endpoint)
	case inUse(code):
		return provider.InUse, fmt.Sprintf("%s is in use, retrying (%s)", about, says)
	case slices.Contains(unavailable, code.Actual):
		return provider.Unreachable, fmt.Sprintf("Neutron at %s does not answer, retrying", endpoint)
	case code.Actual >= http.StatusInternalServerError:
		return provider.Failed, fmt.Sprintf("Neutron failed (%d, see its log), retrying",
			code.Actual)
	case kind == "":
		return otherServer(endpoint)
	}
	return provider.Refused, fmt.Sprintf("Neutron rejects %s: declare another one (%s)", about, says)
}

// neutronError decodes the body of an error response.
func neutronError(body []byte) (kind, message string) {
	var answer struct {
		NeutronError struct{ Type, Message string }
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return "", "without a reason"
	}
	return answer.NeutronError.Type, strings.TrimRight(answer.NeutronError.Message, ". ")
}

// refused reports whether err is an error response, as opposed to no response.
func refused(err error) bool {
	var code gophercloud.ErrUnexpectedResponseCode
	return errors.As(err, &code)
}

// inUse reports whether Neutron refuses a request because the resource is in use.
func inUse(err error) bool {
	var code gophercloud.ErrUnexpectedResponseCode
	if !errors.As(err, &code) || code.Actual != http.StatusConflict {
		return false
	}
	kind, _ := neutronError(code.Body)
	return strings.HasSuffix(kind, "InUse") || strings.HasPrefix(kind, "GatewayConflict")
}

// neutronOwners lists the owners of ports that Neutron creates by itself and removes with their network.
var neutronOwners = []string{"network:dhcp", "network:distributed"}

// blockingPorts returns the ports that prevent the removal of a network.
func blockingPorts(ports []port) []port {
	return slices.DeleteFunc(ports, func(p port) bool { return slices.Contains(neutronOwners, p.Owner) })
}

// inUseProblem returns a Problem that names the ports which prevent an operation.
func (a *api) inUseProblem(ctx context.Context, network, what string) error {
	all, err := a.ports(ctx, network)
	if err != nil {
		return err
	}
	return &provider.Problem{
		Reason:  provider.InUse,
		Message: fmt.Sprintf("%s: %s. The controller continues when they are removed", what, names(blockingPorts(all))),
	}
}

// names describes a number of ports and their owners, in a stable order. It names only the first few.
func names(ports []port) string {
	const most = 5
	slices.SortFunc(ports, func(a, b port) int { return strings.Compare(a.Owner+a.ID, b.Owner+b.ID) })
	var each []string
	for _, p := range ports[:min(len(ports), most)] {
		owner := "no owner"
		if p.Owner != "" || p.Device != "" {
			owner = "of " + strings.TrimSpace(p.Owner+" "+p.Device)
		}
		each = append(each, fmt.Sprintf("%s (%s)", p.ID, owner))
	}
	more := ""
	if len(ports) > most {
		more = fmt.Sprintf(" and %d more", len(ports)-most)
	}
	count := fmt.Sprintf("it has %d ports", len(ports))
	switch len(ports) {
	case 0:
		return "its users are not visible with these credentials"
	case 1:
		count = "it has 1 port"
	}
	return count + ", " + strings.Join(each, ", ") + more
}

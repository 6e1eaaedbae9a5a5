package neutron

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/config"

	"github.com/bowline-dev/bowline/examples/network/provider"
)

// userAgent is how Neutron's log calls this program.
const userAgent = "bowline-network"

// named are the variables of which each means an OpenStack. Others, as a project's, may have been set for another purpose.
var named = []string{
	"OS_CLOUD", "OS_AUTH_URL", "OS_ENDPOINT", "OS_AUTH_TYPE",
	"OS_USERNAME", "OS_USER_ID", "OS_PASSWORD", "OS_APPLICATION_CREDENTIAL_ID", "OS_APPLICATION_CREDENTIAL_SECRET",
}

// Configured says whether the environment names an OpenStack, well or badly.
func Configured() bool {
	return slices.ContainsFunc(named, func(variable string) bool { return os.Getenv(variable) != "" })
}

// CheckEnvironment says what is wrong with what the environment says of an OpenStack, as far as nobody needs to be asked.
func CheckEnvironment() error {
	if throughKeystone() {
		_, err := environment()
		return err
	}
	_, err := FromEnvironment(context.Background())
	return err
}

// throughKeystone says whether the environment names an OpenStack where one logs in, or has who logs in without the where.
func throughKeystone() bool {
	endpointAlone := os.Getenv("OS_ENDPOINT") != "" && os.Getenv("OS_CLOUD") == "" && os.Getenv("OS_AUTH_URL") == ""
	return Configured() && os.Getenv("OS_AUTH_TYPE") != "none" && !endpointAlone
}

// FromEnvironment makes a client of the Neutron that the usual variables name: OS_CLOUD, a cloud of a clouds.yaml; or OS_AUTH_URL with
// OS_USERNAME, OS_PASSWORD and the like; or OS_AUTH_TYPE=none with OS_ENDPOINT, a Neutron without Keystone, which believes who comes
// and is told OS_PROJECT_ID and OS_USER_ID. It asks Keystone for a token, and gets new ones as they expire. The error names the
// variable to change; it is a provider.Problem, Unreachable, when Keystone does not answer.
func FromEnvironment(ctx context.Context) (*gophercloud.ServiceClient, error) {
	switch {
	case os.Getenv("OS_AUTH_TYPE") == "none":
		return withoutKeystone()
	case throughKeystone():
		return withKeystone(ctx)
	case os.Getenv("OS_ENDPOINT") != "":
		return nil, errors.New("OS_ENDPOINT is set and OS_AUTH_TYPE is not none: " +
			"set that for a Neutron without Keystone, else OS_AUTH_URL or OS_CLOUD")
	}
	return nil, errors.New("which OpenStack is not said: set OS_CLOUD, or OS_AUTH_URL with OS_USERNAME, OS_PASSWORD and OS_PROJECT_NAME")
}

// withKeystone is a client that logs in, and does so again when its token has expired.
func withKeystone(ctx context.Context) (*gophercloud.ServiceClient, error) {
	c, err := environment()
	if err != nil {
		return nil, err
	}
	c.auth.AllowReauth = true
	ctx, cancel := context.WithTimeout(ctx, DefaultTimeout)
	defer cancel()
	client, err := config.NewProviderClient(ctx, c.auth, config.WithHTTPClient(http.Client{Transport: transport(c.secure)}))
	if err != nil {
		return nil, loginError(err, c.auth.IdentityEndpoint)
	}
	client.UserAgent.Prepend(userAgent)
	service, err := openstack.NewNetworkV2(client, c.where)
	if err != nil {
		return nil, fmt.Errorf("OS_REGION_NAME is %q, and Keystone at %s knows no network service there: %w",
			c.where.Region, c.auth.IdentityEndpoint, err)
	}
	return service, nil
}

// withoutKeystone is a client that says who it is, and is believed.
func withoutKeystone() (*gophercloud.ServiceClient, error) {
	endpoint := os.Getenv("OS_ENDPOINT")
	if endpoint == "" {
		return nil, errors.New("OS_ENDPOINT is not set: with OS_AUTH_TYPE=none it is the address of Neutron, as in http://127.0.0.1:9696")
	}
	if err := checkAddress("OS_ENDPOINT", endpoint); err != nil {
		return nil, err
	}
	client := &gophercloud.ProviderClient{TokenID: "none", HTTPClient: http.Client{Transport: transport(nil)}}
	client.UserAgent.Prepend(userAgent)
	endpoint = gophercloud.NormalizeURL(endpoint)
	return &gophercloud.ServiceClient{
		ProviderClient: client, Type: "network", Endpoint: endpoint, ResourceBase: strings.TrimSuffix(endpoint, "v2.0/") + "v2.0/",
		MoreHeaders: map[string]string{
			"X-User-Id": setting("OS_USER_ID", "bowline"), "X-Project-Id": setting("OS_PROJECT_ID", "bowline"), "X-Roles": "member",
		},
	}, nil
}

func setting(variable, otherwise string) string {
	if value := os.Getenv(variable); value != "" {
		return value
	}
	return otherwise
}

// checkAddress says what is wrong with the address in a variable.
func checkAddress(variable, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%s is %q, which is no address: write one as in https://cloud.example.org:5000/v3", variable, address)
	}
	return nil
}

// transport is a client's own, so that its connections end with it.
func transport(secure *tls.Config) *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSClientConfig:     secure,
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: 32,
		IdleConnTimeout:     90 * time.Second,
		ForceAttemptHTTP2:   true,
	}
}

// loginError says why Keystone gave no token.
func loginError(err error, endpoint string) error {
	var code gophercloud.ErrUnexpectedResponseCode
	var untrusted *tls.CertificateVerificationError
	var away *url.Error
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &code):
		return refusedLogin(code, endpoint)
	case errors.As(err, &untrusted):
		return fmt.Errorf("the certificate of OS_AUTH_URL, %s, is not trusted: set OS_CACERT to its authority's file: %w", endpoint, err)
	case errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("OS_AUTH_URL is %s, where a server without TLS answers: write http: %w", endpoint, err)
	case errors.As(err, &away):
		return keystoneAway(err, endpoint)
	}
	return fmt.Errorf("nobody can log in at OS_AUTH_URL, %s, as OS_CLOUD or the other variables OS_* say: %w", endpoint, err)
}

// refusedLogin is for what Keystone answered.
func refusedLogin(code gophercloud.ErrUnexpectedResponseCode, endpoint string) error {
	switch {
	case code.Actual == http.StatusUnauthorized || code.Actual == http.StatusForbidden:
		reason, message := unauthorized(endpoint)
		return &provider.Problem{Reason: reason, Message: message, Err: code}
	case code.Actual >= http.StatusInternalServerError || code.Actual == http.StatusTooManyRequests:
		return keystoneAway(code, endpoint)
	}
	return fmt.Errorf("OS_AUTH_URL is %s, where no Keystone answers: %w", endpoint, code)
}

func keystoneAway(err error, endpoint string) error {
	return &provider.Problem{
		Reason: provider.Unreachable, Message: fmt.Sprintf("Keystone at %s (OS_AUTH_URL) does not answer", endpoint), Err: err,
	}
}

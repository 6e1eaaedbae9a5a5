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

// userAgent identifies this program in Neutron's log.
const userAgent = "bowline-network"

// named lists the variables that indicate an OpenStack. Others, such as that of a project, may have been set
// for another purpose.
var named = []string{
	"OS_CLOUD", "OS_AUTH_URL", "OS_ENDPOINT", "OS_AUTH_TYPE",
	"OS_USERNAME", "OS_USER_ID", "OS_PASSWORD", "OS_APPLICATION_CREDENTIAL_ID", "OS_APPLICATION_CREDENTIAL_SECRET",
}

// Configured reports whether the environment names an OpenStack, correctly or not.
func Configured() bool {
	return slices.ContainsFunc(named, func(variable string) bool { return os.Getenv(variable) != "" })
}

// CheckEnvironment returns an error if the environment's settings for OpenStack are wrong, as far as that can
// be determined without a request.
func CheckEnvironment() error {
	if throughKeystone() {
		_, err := environment()
		return err
	}
	_, err := FromEnvironment(context.Background())
	return err
}

// throughKeystone reports whether the settings require a login at Keystone, even if they are incomplete.
func throughKeystone() bool {
	endpointAlone := os.Getenv("OS_ENDPOINT") != "" && os.Getenv("OS_CLOUD") == "" && os.Getenv("OS_AUTH_URL") == ""
	return Configured() && os.Getenv("OS_AUTH_TYPE") != "none" && !endpointAlone
}

// FromEnvironment returns a client for the Neutron that the usual variables name: OS_CLOUD, a cloud of a
// clouds.yaml; or OS_AUTH_URL with OS_USERNAME, OS_PASSWORD and the like; or OS_AUTH_TYPE=none with
// OS_ENDPOINT, a Neutron without Keystone that trusts the identity in OS_PROJECT_ID and OS_USER_ID. The
// client requests a token from Keystone and renews it after expiry. The error names the variable to change;
// if Keystone does not answer, it is a provider.Problem with the reason Unreachable.
func FromEnvironment(ctx context.Context) (*gophercloud.ServiceClient, error) {
	switch {
	case os.Getenv("OS_AUTH_TYPE") == "none":
		return withoutKeystone()
	case throughKeystone():
		return withKeystone(ctx)
	case os.Getenv("OS_ENDPOINT") != "":
		return nil, errors.New("OS_ENDPOINT is set without OS_AUTH_TYPE=none: " +
			"set that too for a Neutron without Keystone, else set OS_AUTH_URL or OS_CLOUD")
	}
	return nil,
		errors.New("no OpenStack is named: set OS_CLOUD, or OS_AUTH_URL with OS_USERNAME, OS_PASSWORD and OS_PROJECT_NAME")
}

// withKeystone returns a client that logs in, and logs in again when its token has expired.
func withKeystone(ctx context.Context) (*gophercloud.ServiceClient, error) {
	c, err := environment()
	if err != nil {
		return nil, err
	}
	c.auth.AllowReauth = true
	ctx, cancel := context.WithTimeout(ctx, DefaultTimeout)
	defer cancel()
	client, err := config.NewProviderClient(ctx, c.auth,
		config.WithHTTPClient(http.Client{Transport: transport(c.secure)}))
	if err != nil {
		return nil, loginError(err, c.auth.IdentityEndpoint)
	}
	client.UserAgent.Prepend(userAgent)
	service, err := openstack.NewNetworkV2(client, c.where)
	if err != nil {
		return nil, fmt.Errorf("OS_REGION_NAME is %q, for which Keystone at %s lists no network service: %w",
			c.where.Region, c.auth.IdentityEndpoint, err)
	}
	return service, nil
}

// withoutKeystone returns a client that sends its identity in headers that Neutron trusts.
func withoutKeystone() (*gophercloud.ServiceClient, error) {
	endpoint := os.Getenv("OS_ENDPOINT")
	if endpoint == "" {
		return nil,
			errors.New("OS_ENDPOINT is not set: with OS_AUTH_TYPE=none it must be the address of Neutron, such as http://127.0.0.1:9696")
	}
	if err := checkAddress("OS_ENDPOINT", endpoint); err != nil {
		return nil, err
	}
	client := &gophercloud.ProviderClient{TokenID: "none", HTTPClient: http.Client{Transport: transport(nil)}}
	client.UserAgent.Prepend(userAgent)
	endpoint = gophercloud.NormalizeURL(endpoint)
	return &gophercloud.ServiceClient{
		ProviderClient: client, Type: "network", Endpoint: endpoint,
		ResourceBase: strings.TrimSuffix(endpoint, "v2.0/") + "v2.0/",
		MoreHeaders: map[string]string{
			"X-User-Id": setting("OS_USER_ID", "bowline"), "X-Project-Id": setting("OS_PROJECT_ID", "bowline"),
			"X-Roles": "member",
		},
	}, nil
}

func setting(variable, fallback string) string {
	if value := os.Getenv(variable); value != "" {
		return value
	}
	return fallback
}

// checkAddress returns an error if the address in a variable is not a URL.
func checkAddress(variable, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("invalid %s %q: must be a URL, such as https://cloud.example.org:5000/v3", variable,
			address)
	}
	return nil
}

// transport returns a new transport, so that its connections can be closed with the client.
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

// loginError explains why Keystone issued no token.
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
		return fmt.Errorf("the certificate of OS_AUTH_URL, %s, is not trusted: set OS_CACERT to the certificate of its authority: %w", endpoint, err)
	case errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("the server at OS_AUTH_URL, %s, has no TLS: use http: %w", endpoint, err)
	case errors.As(err, &away):
		return keystoneUnreachable(err, endpoint)
	}
	return fmt.Errorf("the login at OS_AUTH_URL, %s, with OS_CLOUD or the other OS_* variables failed: %w", endpoint,
		err)
}

// refusedLogin explains an error response of Keystone.
func refusedLogin(code gophercloud.ErrUnexpectedResponseCode, endpoint string) error {
	switch {
	case code.Actual == http.StatusUnauthorized || code.Actual == http.StatusForbidden:
		reason, message := unauthorized(endpoint)
		return &provider.Problem{Reason: reason, Message: message, Err: code}
	case code.Actual >= http.StatusInternalServerError || code.Actual == http.StatusTooManyRequests:
		return keystoneUnreachable(code, endpoint)
	}
	return fmt.Errorf("the server at OS_AUTH_URL, %s, is not Keystone: %w", endpoint, code)
}

func keystoneUnreachable(err error, endpoint string) error {
	return &provider.Problem{
		Reason: provider.Unreachable, Message: fmt.Sprintf("Keystone at %s (OS_AUTH_URL) does not answer", endpoint),
		Err: err,
	}
}

package neutron

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
)

// loginVariables maps the keys of the auth section of a clouds.yaml to their environment variables, the preferred one
// first.
var loginVariables = map[string][]string{
	"auth_url":                      {"OS_AUTH_URL"},
	"username":                      {"OS_USERNAME"},
	"user_id":                       {"OS_USER_ID", "OS_USERID"},
	"password":                      {"OS_PASSWORD"},
	"user_domain_id":                {"OS_USER_DOMAIN_ID", "OS_DOMAIN_ID"},
	"user_domain_name":              {"OS_USER_DOMAIN_NAME", "OS_DOMAIN_NAME"},
	"project_id":                    {"OS_PROJECT_ID", "OS_TENANT_ID"},
	"project_name":                  {"OS_PROJECT_NAME", "OS_TENANT_NAME"},
	"project_domain_id":             {"OS_PROJECT_DOMAIN_ID", "OS_DOMAIN_ID"},
	"project_domain_name":           {"OS_PROJECT_DOMAIN_NAME", "OS_DOMAIN_NAME"},
	"application_credential_id":     {"OS_APPLICATION_CREDENTIAL_ID"},
	"application_credential_name":   {"OS_APPLICATION_CREDENTIAL_NAME"},
	"application_credential_secret": {"OS_APPLICATION_CREDENTIAL_SECRET"},
}

// replacedKeys lists the keys that each ID replaces: files of the dashboard contain both IDs and names, and
// gophercloud accepts only one of them.
var replacedKeys = map[string][]string{
	"user_id":           {"username", "user_domain_id", "user_domain_name"},
	"user_domain_id":    {"user_domain_name"},
	"project_id":        {"project_name", "project_domain_id", "project_domain_name"},
	"project_domain_id": {"project_domain_name"},
	"application_credential_id": {
		"application_credential_name", "username", "user_id", "user_domain_id", "user_domain_name",
		"project_id", "project_name", "project_domain_id", "project_domain_name",
	},
}

// cloud is an OpenStack with Keystone: the credentials, the region of Neutron, and the TLS configuration,
// which may be nil.
type cloud struct {
	auth   gophercloud.AuthOptions
	where  gophercloud.EndpointOpts
	secure *tls.Config
}

// environment returns the cloud that the environment names, by a clouds.yaml or by variables.
func environment() (cloud, error) {
	if name := os.Getenv("OS_CLOUD"); name != "" {
		c, err := parse()
		if err == nil {
			err = checkAddress("auth_url", c.auth.IdentityEndpoint)
		}
		if err != nil {
			err = fmt.Errorf("OS_CLOUD is %q: %w", name, err)
		}
		return c, err
	}
	set := variables()
	if err := checkLogin(set); err != nil {
		return cloud{}, err
	}
	only := map[string]any{"auth": set}
	file, err := json.Marshal(map[string]any{"clouds": map[string]any{"only": only}})
	if err != nil {
		return cloud{}, err
	}
	// Parse also reads OS_CACERT, OS_REGION_NAME and OS_INTERFACE.
	return parse(clouds.WithCloudName("only"), clouds.WithCloudsYAML(bytes.NewReader(file)),
		clouds.WithSecureYAML(strings.NewReader("{}")))
}

// variables returns the login in the environment variables.
func variables() map[string]string {
	set := map[string]string{}
	for key, names := range loginVariables {
		for _, name := range names {
			if value := os.Getenv(name); value != "" && set[key] == "" {
				set[key] = value
			}
		}
	}
	for id, others := range replacedKeys {
		for _, other := range others {
			if set[id] != "" {
				delete(set, other)
			}
		}
	}
	return set
}

// checkLogin returns an error that names a variable which the login requires and which is not set.
func checkLogin(set map[string]string) error {
	if set["auth_url"] == "" {
		return errors.New("OS_AUTH_URL is not set: set it to the address of Keystone, or set OS_CLOUD")
	}
	if err := checkAddress("OS_AUTH_URL", set["auth_url"]); err != nil {
		return err
	}
	has := func(keys ...string) bool {
		for _, key := range keys {
			if set[key] != "" {
				return true
			}
		}
		return false
	}
	missing := ""
	switch application := has("application_credential_id", "application_credential_name"); {
	case application && !has("application_credential_secret"):
		missing = "OS_APPLICATION_CREDENTIAL_SECRET"
	case has("application_credential_id"):
	case !has("username", "user_id"):
		missing = "OS_USERNAME"
	case !has("user_id", "user_domain_id", "user_domain_name"):
		missing = "OS_USER_DOMAIN_NAME"
	case application:
	case !has("password"):
		missing = "OS_PASSWORD"
	case !has("project_id", "project_name"):
		missing = "OS_PROJECT_NAME"
	case !has("project_id", "project_domain_id", "project_domain_name"):
		missing = "OS_PROJECT_DOMAIN_NAME"
	}
	if missing != "" {
		return fmt.Errorf("%s is not set, but is required for the login at OS_AUTH_URL, %s", missing,
			set["auth_url"])
	}
	return nil
}

// parse reads a clouds.yaml. It recovers from the panic of gophercloud if a cloud has no auth section.
func parse(options ...clouds.ParseOption) (c cloud, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("it has no auth section in clouds.yaml")
		}
	}()
	c.auth, c.where, c.secure, err = clouds.Parse(options...)
	return c, err
}

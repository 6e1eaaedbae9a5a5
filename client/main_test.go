package client_test

import (
	"fmt"
	"os"
	"testing"
)

// pluginVariable makes this test binary a credential plugin, as a kubeconfig's exec names one: it answers with the
// variable's value as the token.
const pluginVariable = "BOWLINE_TEST_PLUGIN_TOKEN"

func TestMain(m *testing.M) {
	if token := os.Getenv(pluginVariable); token != "" {
		fmt.Printf(`{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":%q}}`, token)
		return
	}
	os.Exit(m.Run())
}

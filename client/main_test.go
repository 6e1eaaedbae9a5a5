package client_test

import (
	"fmt"
	"os"
	"testing"
)

// otherSelves maps environment variables to the functions that this test binary runs instead of tests if one is set.
var otherSelves = map[string]func(value string) error{pluginVariable: plugin}

// pluginVariable makes a credential plugin, as a kubeconfig's exec names one: its value is the token.
const pluginVariable = "BOWLINE_TEST_PLUGIN_TOKEN"

func plugin(token string) error {
	_, err := fmt.Printf(`{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":%q}}`, token)
	return err
}

func TestMain(m *testing.M) {
	for variable, self := range otherSelves {
		value := os.Getenv(variable)
		if value == "" {
			continue
		}
		if err := self(value); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

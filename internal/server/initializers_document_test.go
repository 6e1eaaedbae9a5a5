package server_test

import "testing"

// TestInitializersDocument sends the requests of docs/initializers.md.
func TestInitializersDocument(t *testing.T) {
	t.Parallel()
	followDocument(t, "../../docs/initializers.md")
}

package server_test

import "testing"

// TestInitializersDoWhatTheDocumentTells sends the requests of docs/initializers.md.
func TestInitializersDoWhatTheDocumentTells(t *testing.T) {
	t.Parallel()
	followDocument(t, "../../docs/initializers.md")
}

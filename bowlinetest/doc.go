// Package bowlinetest is for the tests of who writes operators and controllers: a control plane for each test, the real
// thing, in milliseconds. docs/testing.md leads from a first test to all of it.
//
//	func TestGreeting(t *testing.T) {
//		p := bowlinetest.Start(t)
//		clients := kubernetes.NewForConfigOrDie(p.Config())
//		...
//	}
//
// Start makes a plane that ends with the test, Bubble one in virtual time, Plane.Fork a copy of one for a subtest. Planes
// share nothing, so that tests run in parallel. What a test leaves behind, a watch that is still open or a goroutine that
// never ends, fails it, and is named.
//
// Explore runs a controller once for each thing that can go wrong, and prints the smallest run in which it comes to another end:
// docs/explore.md.
//
// Any client works: our own, client-go, controller-runtime. None of them has to know that it is being tested.
package bowlinetest

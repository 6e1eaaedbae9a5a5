// Package bowlinetest starts control planes in the tests of operators and controllers: a real API for each
// test, in the test's process, in milliseconds. docs/testing.md is the guide, from a first test to the last
// option.
//
//	func TestGreeting(t *testing.T) {
//		p := bowlinetest.Start(t)
//		clients := kubernetes.NewForConfigOrDie(p.RESTConfig())
//		...
//	}
//
// Start starts a plane that ends with the test. Bubble starts one in virtual time, and Plane.Fork copies one
// for a subtest. Planes share nothing, so tests can run in parallel. A test that leaks a watch or a goroutine
// fails, and its log names the leak.
//
// Explore runs a controller once for each fault that can be injected, and prints the shortest run whose end
// state differs from that of the undisturbed run. See docs/explore.md.
//
// Any client works: Bowline's own, client-go or controller-runtime. None needs changes for the test.
package bowlinetest

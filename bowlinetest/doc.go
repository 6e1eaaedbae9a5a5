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
// Start starts a plane that is closed when the test ends. Bubble starts one in virtual time, and Plane.Fork copies one
// for a subtest. Planes are independent of each other, so tests can run in parallel. A test that leaks a watch or a
// goroutine fails, and its log names the leak.
//
// Explore runs a controller once for each fault that can be injected, and prints the shortest run that fails, for
// example because its end state differs from that of the run without faults. See docs/explore.md.
//
// Tests can use any client: Bowline's own, client-go or controller-runtime, without changes.
package bowlinetest

// Package example is an operator, implemented twice: with client-go alone (clientgo.go), and with
// controller-runtime (controllerruntime.go). Neither file imports this project. A test runs both with their usual
// informers and with Bowline's, over the wire and in the server's process; only the line that creates the factory, or
// the manager's options, differs.
//
// The operator makes a Service for each Deployment that has the annotation expose with a port, restores it
// if it is changed, and deletes it when the annotation is removed.
package example

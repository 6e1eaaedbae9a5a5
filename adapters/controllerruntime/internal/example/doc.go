// Package example is an operator, written twice as operators are: with client-go alone (clientgo.go), and with
// controller-runtime (controllerruntime.go). Neither file knows of this project. A test runs both on the informers that
// they were written for and on ours, over the wire and in the server's process: what differs is the line that makes the
// factory, or the manager's options.
//
// The operator makes a Service for each Deployment that has the annotation expose with a port, keeps it so, and takes
// it away with the annotation.
package example

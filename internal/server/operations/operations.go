// Package operations is for the operators of a plane: it verifies what is stored, streams backups, creates and keeps
// the initial objects of a server, and reports stored and damaged objects to health checks and metrics. Packages server
// and httpapi call it. It writes only through the function that Bootstrap and Keeper are given.
package operations

// Package samplecrd names the API group of the documents' program. It is for the versions of the group, below it.
package samplecrd

const (
	GroupName = "samplecrd.k8s.io"
	Version   = "v1"
)

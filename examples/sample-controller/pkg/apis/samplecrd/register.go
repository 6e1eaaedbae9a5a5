// Package samplecrd contains the name of the API group. The packages of its versions use it.
package samplecrd

const (
	GroupName = "samplecrd.k8s.io"
	Version   = "v1"
)

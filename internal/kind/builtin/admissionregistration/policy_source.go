package admissionregistration

import (
	"strings"

	"github.com/google/cel-go/cel"
)

// source is an expression of a policy, as the user wrote it.
type source struct {
	role    role
	written string
}

// role is the purpose of an expression. It determines the type of the result and the variables.
type role int

const (
	conditionRole role = iota
	variableRole
	validationRole
	messageRole
	annotationRole
	applyRole
	patchRole
)

// types returns the types that the result may have.
func (r role) types() []*cel.Type {
	switch r {
	case variableRole:
		return []*cel.Type{cel.AnyType, cel.DynType}
	case messageRole:
		return []*cel.Type{cel.StringType}
	case annotationRole:
		return []*cel.Type{cel.StringType, cel.NullType}
	case applyRole:
		return []*cel.Type{cel.ObjectType("Object")}
	case patchRole:
		return []*cel.Type{cel.ListType(cel.ObjectType("JSONPatch"))}
	}
	return []*cel.Type{cel.BoolType}
}

// text returns the text that is compiled. As in Kubernetes, only some roles ignore the white space around it, which
// matters for the columns in error messages.
func (s source) text() string {
	switch s.role {
	case variableRole, validationRole, messageRole:
		return s.written
	}
	return strings.TrimSpace(s.written)
}

// shown returns the text that an error shows.
func (s source) shown() string {
	if s.role == annotationRole {
		return s.written
	}
	return s.text()
}

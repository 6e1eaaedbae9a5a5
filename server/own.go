package server

import "github.com/bowline-dev/bowline/kind"

// own is the stage that keeps who set which field. Ownership is not kept yet: what a client sends of it is dropped, so
// that no object claims owners whom nobody checked.
func own(obj kind.Object) { obj.SetManagedFields(nil) }

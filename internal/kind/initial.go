package kind

// Initial is an object that every server has from its start.
type Initial struct {
	// Object is created if no object of its name exists. Its uid is retained if it is set.
	Object Object
	// Correct updates a stored object from an earlier start, and reports whether it changed anything. If it
	// is nil, a stored object is not changed.
	Correct func(stored Object) bool
	// Subresource is the subresource through which Correct writes, such as status; empty for the object itself.
	Subresource string
	// NeedsReplacement reports whether a stored object cannot be corrected by an update: then it is deleted and Object
	// is created. If it is nil, every stored object can be corrected.
	NeedsReplacement func(stored Object) bool
	// OnlyCorrect prevents the creation of Object.
	OnlyCorrect bool
	// Keep makes the server create a deleted object again, and correct a changed one, while it runs. Otherwise it does
	// so at its next start.
	Keep bool
}

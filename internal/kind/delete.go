package kind

// DeletePreparer is implemented by kinds that hold their deleted objects back themselves, beside metadata.finalizers:
// a namespace stays until what is in it is gone (spec.finalizers).
type DeletePreparer interface {
	// BeginDelete is called on a delete, and may change obj to say that its end has begun. keep says that the kind holds
	// the object: it is marked with a deletionTimestamp, without a grace period, and stays until Finished. Called again on
	// an object that is being deleted already, it changes nothing.
	BeginDelete(obj Object) (keep bool)

	// Finished says that nothing of the kind's own holds obj any longer. It is asked of deleted objects only.
	Finished(obj Object) bool
}

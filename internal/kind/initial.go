package kind

// Initial is an object that a server has from its start.
type Initial struct {
	// Object is created where there is none of its name. It keeps its uid if it has one.
	Object Object
	// Correct brings one that is there already, from an earlier start, in line with this one, and says whether that
	// changed it; nil leaves it as it is.
	Correct func(stored Object) bool
	// Unfit says of one that is there that no change brings it in line: it is deleted, and Object created; nil says it of none.
	Unfit func(stored Object) bool
	// OnlyCorrect says that it is not created.
	OnlyCorrect bool
}

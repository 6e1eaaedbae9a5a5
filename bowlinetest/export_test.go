package bowlinetest

// NoSocket is the option of planes in a Bubble, whose failure would be the test's own.
var NoSocket Option = noSocket

package bowlinetest

// NoSocket is the option of planes in a Bubble, for tests that expect it to fail without failing their own
// bubble.
var NoSocket Option = noSocket

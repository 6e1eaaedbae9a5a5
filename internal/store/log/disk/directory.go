package disk

// directory is the locked directory of a store. It creates, checks and migrates the files in it, and opens
// their database. It does not change after the log is opened, so it needs no mutex.
type directory struct {
	path    string
	options Options
	lock    *folderLock
}

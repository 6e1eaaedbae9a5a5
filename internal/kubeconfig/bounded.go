package kubeconfig

import (
	"fmt"
	"io"
	"os"
)

// maxFile bounds the size of a kubeconfig and of each file that it names, in bytes. The largest kubeconfigs hold
// a few thousand clusters, with a few kilobytes each.
const maxFile = 16 << 20

// sizeError reports a file that is too large to be what it should be, or a device that never ends.
type sizeError struct{ path string }

func (e *sizeError) Error() string {
	return fmt.Sprintf("%s is larger than %d MiB: name another file", e.path, maxFile>>20)
}

// readBounded reads a file, pipe or device of at most maxFile bytes.
func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = &sizeError{path}
	}
	return data, err
}

// CheckSize returns an error if a file is too large for a kubeconfig, or is a device other than os.DevNull. It
// is for callers that let client-go read the file, which reads without limit. It reads nothing, because a pipe
// can be read only once, and returns nil for a file that does not exist.
func CheckSize(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil // client-go reports it
	case info.Size() > maxFile && info.Mode().IsRegular():
		return &sizeError{path}
	case info.Mode()&os.ModeDevice != 0 && path != os.DevNull:
		return fmt.Errorf("%s is a device: name a kubeconfig", path)
	}
	return nil
}

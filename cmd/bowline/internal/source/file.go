package source

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/bowline-dev/bowline/internal/store/log/disk"
)

// OpenFile opens a backup for reading. The path - means standard input. The caller closes it.
func OpenFile(path string, stdin io.Reader) (io.ReadCloser, error) {
	if path == StandardStream {
		return io.NopCloser(stdin), nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the backup: %w", err)
	}
	return file, nil
}

// StandardStream is the file name that means standard input or output.
const StandardStream = "-"

// ExplainLoss adds a hint about --accept-damage to the error of a store that lost its last commits. It
// returns other errors unchanged.
func ExplainLoss(err error) error {
	if _, ok := errors.AsType[*disk.LostError](err); !ok {
		return err
	}
	return fmt.Errorf("%w, or use --accept-damage to continue without them; nothing was changed", err)
}

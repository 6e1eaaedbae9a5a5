package disk

import "context"

// ReadAlone runs one reader without a consumer and returns how many chunks each part has afterwards.
func (l *Log) ReadAlone(ctx context.Context) ([]int, error) {
	parts, err := l.db.parts()
	if err != nil {
		return nil, err
	}
	w := &loading{db: l.db, parts: parts, spare: make(chan []stored, spareChunks)}
	w.readParts(ctx)
	chunks := make([]int, len(parts))
	for i := range parts {
		chunks[i] = len(parts[i].states)
	}
	return chunks, nil
}

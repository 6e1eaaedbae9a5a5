package fair

// Remembered returns the number of cached flows.
func (q *Queue) Remembered() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.flows)
}

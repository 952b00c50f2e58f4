package klog

// What tests of this package reach.
var (
	EmptyCall     = emptyCall
	LibraryScan   = libraryScan
	LibraryAppend = libraryAppend
)

// Waiting is how many goroutines wait for logs of the manager.
func Waiting(l *Log) (n int) {
	w := &l.manager.waits
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, on := range w.byID {
		n += on.waiting
	}
	return n
}

// Armed is how many entries the manager's waiter has.
func Armed(l *Log) int {
	w := &l.manager.waits
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.byID)
}

// Sent is how many bytes went by sendfile.
func Sent() uint64 { return sentByKernel.Load() }

// SetLapse lets entries lapse after so many milliseconds, until the function that it gives is called.
func SetLapse(ms int) (restore func()) {
	before := lapseMS
	lapseMS = int64(ms)
	return func() { lapseMS = before }
}

// Lapses is how many entries of the manager's waiter came back unanswered.
func Lapses(l *Log) uint64 {
	w := &l.manager.waits
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lapses
}

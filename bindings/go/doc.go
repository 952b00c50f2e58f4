// Package klog is Apache Kafka's log as a library, called through cgo. It opens Kafka data directories inside the process,
// without a JVM and without a broker: it reads, repairs, appends, retains and compacts. What it leaves behind a stock Kafka
// broker loads as its own.
//
//	manager, err := klog.Open(ctx, []string{"data"}, &klog.Options{CreateDirs: true})
//	log, err := manager.Log("orders", 0, &klog.LogOptions{Create: true})
//	result, err := log.Append([]klog.Record{{Key: []byte("order-7"), Value: []byte("paid")}}, nil)
//	for record, err := range log.Records(ctx, result.FirstOffset) {
//		...
//	}
//	err = manager.Close()
//
// # Memory
//
// Records that are read point into the buffer of their cursor, and are valid until the next record is asked for;
// Record.Clone keeps one. Records that are appended are copied. A Cursor and a Batch that are used again take no memory for
// a record. With -tags klog_debug memory that records lose is overwritten, so that who kept one sees it.
//
// A Fetch is the exception: its bytes are the file's memory, and gone with its Close.
//
// # Waiting
//
// Log.Follow, and all that takes ReadOptions.Follow, waits at the log end until there is more or its context is done; Log.Wait
// waits for an end of the log. The goroutines that wait hold no threads, and one more goroutine for each manager serves them,
// from the first wait to the close. Ticket.Wait appends for all who wait, unless another one does.
//
// # Closing
//
// Manager, Log, Cursor, Fetch, Appender and Events have a Close, which may be called twice, and at once with anything else;
// calls afterwards are ErrClosed, which is os.ErrClosed to errors.Is, and so are those that wait. Closing a manager closes all
// that it gave out but for each Fetch, which stays. What was forgotten is closed when it is collected, and counted by Leaked;
// but never a Manager or an Appender, whose close flushes and must be asked for, nor a Fetch whose bytes were given out.
//
// # Errors
//
// Errors are *Error, with the status, Kafka's code, the path, the offset and more as fields. errors.Is takes the statuses
// (ErrOffsetOutOfRange), the operating system's errors and the standard library's (os.ErrClosed, context.Canceled).
//
// # Linking
//
// `make go-lib`, at the root of klog's repository, builds the library and puts it where this package looks for it; then
// the go command needs no flags. With -tags klog_dynamic the library is the installed one that pkg-config knows as klog; with
// -tags musl the one in lib/GOOS_GOARCH_musl, for systems with musl.
package klog

package klog

// #include "shim.h"
import "C"

import "context"

// cancellable runs a call that takes a token of the library's, which is fired when ctx is done. A context that is never
// done costs nothing. The library ends such a call soon after; what it had done by then stays.
func cancellable(ctx context.Context, call func(C.klog_cancel, *C.klog_error) C.klog_status) error {
	if cause := ctx.Err(); cause != nil {
		return cancelled(ctx)
	}
	err := cError()
	if ctx.Done() == nil {
		return newError(call(C.klog_cancel{}, &err), &err)
	}
	var token C.klog_cancel
	if status := C.klog_cancel_create(&token, &err); status != C.KLOG_OK {
		return newError(status, &err)
	}
	// Firing a token that was closed does nothing: ids are never used again.
	stop := context.AfterFunc(ctx, func() { C.klog_cancel_fire(token) })
	defer C.klog_cancel_close(token)
	defer stop()
	failed := newError(call(token, &err), &err)
	if e, is := failed.(*Error); is && e.Status == ErrCancelled {
		e.cause = context.Cause(ctx)
		if e.cause != ctx.Err() {
			e.cause = withCause{ctx.Err(), e.cause}
		}
	}
	return failed
}

// cancelled is the answer of a call whose context was done before it began.
func cancelled(ctx context.Context) error {
	e := &Error{Status: ErrCancelled, Partition: -1, Offset: -1, Position: -1, RecordIndex: -1, cause: ctx.Err()}
	e.Msg = e.cause.Error()
	if cause := context.Cause(ctx); cause != e.cause {
		e.cause = withCause{e.cause, cause}
	}
	return e
}

// withCause is a context's error together with the cause that it was given.
type withCause struct{ err, cause error }

func (w withCause) Error() string   { return w.cause.Error() }
func (w withCause) Unwrap() []error { return []error{w.err, w.cause} }

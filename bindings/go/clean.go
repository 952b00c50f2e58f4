package klog

// #include "shim.h"
import "C"

import (
	"context"
	"errors"
	"runtime"
	"time"
)

// CleanOptions say how logs are compacted. The zero value, and nil, are as the configuration says.
type CleanOptions struct {
	// DryRun counts what would go; nothing is changed.
	DryRun bool
	// Roll begins a new active segment first, so that all that is in the log can be cleaned. For one log.
	Roll bool
	// FirstDirty, if not nil, is where the dirty part of the log begins; else its checkpoint says. For one log.
	FirstDirty *int64
	// MinDirtyRatio: over all logs, only those of which a larger share is dirty; 0 is each log's min.cleanable.dirty.ratio.
	MinDirtyRatio float64
	// MapBytes is the memory of the map from key to offset, 24 bytes a key; 0 is log.cleaner.dedupe.buffer.size.
	MapBytes uint64
	// BytesPerSecond are read and written at most; 0 is log.cleaner.io.max.bytes.per.second.
	BytesPerSecond uint64
	// MaxLogs is how many passes are made at most, over all logs; 0 is as many as there is something to clean.
	MaxLogs uint32
	// Progress, if not nil, is called every ProgressEvery (0: 100 ms) while one log is cleaned, from another goroutine, and
	// never after the call returned.
	Progress      func(CleanProgress)
	ProgressEvery time.Duration
}

// CleanResult is what compaction did, or would do: the sums over all passes.
type CleanResult struct {
	Logs              uint64
	BytesRead         uint64
	BytesWritten      uint64
	RecordsRead       uint64
	RecordsKept       uint64
	DroppedSuperseded uint64 // their key has a later record
	DroppedTombstones uint64
	DroppedNoKey      uint64
	DroppedAborted    uint64
	DroppedMarkers    uint64
	MapSlots          uint64
	MapSlotsUsed      uint64
	Elapsed           time.Duration
	Throttled         time.Duration
	FirstDirtyOffset  int64 // -1 over all logs, or if there was nothing to clean
}

// CleanPhase is what a pass of the cleaner is doing.
type CleanPhase uint32

// The phases, in their order.
const (
	CleanIdle CleanPhase = C.KLOG_CLEAN_PHASE_IDLE
	CleanMap  CleanPhase = C.KLOG_CLEAN_PHASE_MAP
	CleanCopy CleanPhase = C.KLOG_CLEAN_PHASE_COPY
	CleanSwap CleanPhase = C.KLOG_CLEAN_PHASE_SWAP
)

// String is the phase's name.
func (p CleanPhase) String() string {
	names := [...]string{"idle", "map", "copy", "swap"}
	if int(p) >= len(names) {
		return "?"
	}
	return names[p]
}

// CleanProgress is how far a pass is.
type CleanProgress struct {
	Phase            CleanPhase
	BytesDone        uint64 // in this phase
	BytesTotal       uint64
	FirstDirtyOffset int64
	EndOffset        int64
	Started          time.Time
}

// Clean compacts now: every log that is managed and compacted, the filthiest first, as long as one is dirty enough. When
// ctx is done it ends soon, and what was done by then stays done.
func (m *Manager) Clean(ctx context.Context, opts *CleanOptions) (CleanResult, error) {
	return clean(ctx, m, C.klog_log{}, opts)
}

// Clean compacts this log now, in one pass, whatever share of it is dirty. When ctx is done it ends soon, and what was
// done by then stays done.
func (l *Log) Clean(ctx context.Context, opts *CleanOptions) (CleanResult, error) {
	defer runtime.KeepAlive(l)
	if opts != nil && opts.Progress != nil {
		defer l.tellProgress(opts)()
	}
	result, err := clean(ctx, l.manager, l.c, opts)
	return result, l.named(err)
}

func clean(ctx context.Context, m *Manager, only C.klog_log, opts *CleanOptions) (CleanResult, error) {
	with := C.klog_clean_options{struct_size: C.sizeof_klog_clean_options}
	if opts != nil {
		with.min_dirty_ratio = C.double(opts.MinDirtyRatio)
		with.map_bytes = C.uint64_t(opts.MapBytes)
		with.io_bytes_per_second = C.uint64_t(opts.BytesPerSecond)
		with.max_logs = C.uint32_t(opts.MaxLogs)
		if opts.DryRun {
			with.flags |= C.KLOG_DRY_RUN
		}
		if opts.Roll {
			with.flags |= C.KLOG_CLEAN_ROLL
		}
		if opts.FirstDirty != nil {
			with.flags |= C.KLOG_CLEAN_HAS_FIRST_DIRTY
			with.first_dirty_offset = C.int64_t(*opts.FirstDirty)
		}
	}
	c := C.klog_clean_result{struct_size: C.sizeof_klog_clean_result}
	err := cancellable(ctx, func(token C.klog_cancel, err *C.klog_error) C.klog_status {
		with.cancel = token
		return C.klog_clean(m.c, only, &with, &c, err)
	})
	return CleanResult{
		Logs: uint64(c.logs_cleaned), BytesRead: uint64(c.bytes_read), BytesWritten: uint64(c.bytes_written),
		RecordsRead: uint64(c.records_read), RecordsKept: uint64(c.records_kept),
		DroppedSuperseded: uint64(c.dropped_superseded), DroppedTombstones: uint64(c.dropped_tombstones),
		DroppedNoKey: uint64(c.dropped_no_key), DroppedAborted: uint64(c.dropped_aborted),
		DroppedMarkers: uint64(c.dropped_markers), MapSlots: uint64(c.map_slots), MapSlotsUsed: uint64(c.map_slots_used),
		Elapsed:          time.Duration(c.elapsed_ms) * time.Millisecond,
		Throttled:        time.Duration(c.throttled_ms) * time.Millisecond,
		FirstDirtyOffset: int64(c.first_dirty_offset),
	}, err
}

// tellProgress calls opts.Progress now and then, until the function that it gives has returned.
func (l *Log) tellProgress(opts *CleanOptions) (end func()) {
	every := opts.ProgressEvery
	if every <= 0 {
		every = 100 * time.Millisecond
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-stop:
				return
			case <-ticker.C:
				if progress, err := l.CleanProgress(); err == nil && progress.Phase != CleanIdle {
					opts.Progress(progress)
				}
			}
		}
	}()
	return func() {
		close(stop)
		<-done
	}
}

// CleanProgress is how far the pass is that runs on the log, in whatever thread; CleanIdle if none does.
func (l *Log) CleanProgress() (CleanProgress, error) {
	defer runtime.KeepAlive(l)
	c := C.klog_clean_progress{struct_size: C.sizeof_klog_clean_progress}
	err := cError()
	if status := C.klog_clean_get_progress(l.c, &c, &err); status != C.KLOG_OK {
		return CleanProgress{}, l.failed(status, &err)
	}
	return CleanProgress{
		CleanPhase(c.phase), uint64(c.bytes_done), uint64(c.bytes_total), int64(c.first_dirty_offset), int64(c.end_offset),
		time.UnixMilli(int64(c.started_ms)),
	}, nil
}

// PauseCleaning lets no pass run on the log until ResumeCleaning; one that runs is ended, and waited for. Pauses count.
func (l *Log) PauseCleaning() error {
	defer runtime.KeepAlive(l)
	err := cError()
	return l.failed(C.klog_clean_pause(l.c, &err), &err)
}

// ResumeCleaning takes back one PauseCleaning.
func (l *Log) ResumeCleaning() error {
	defer runtime.KeepAlive(l)
	err := cError()
	return l.failed(C.klog_clean_resume(l.c, &err), &err)
}

// awaitPause is how long AwaitCleaned pauses between two looks: a wait in the library would hold a thread, and threads are
// few where goroutines are many.
const awaitPause = 20 * time.Millisecond

// AwaitCleaned waits until the log is compacted up to an offset.
func (l *Log) AwaitCleaned(ctx context.Context, offset int64) error {
	defer runtime.KeepAlive(l)
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return l.named(cancelled(ctx))
		case <-pause.C:
		}
		err := cError()
		failed := l.failed(C.klog_clean_await(l.c, C.int64_t(offset), 0, C.klog_cancel{}, &err), &err)
		if !errors.Is(failed, ErrTimedOut) {
			return failed
		}
		pause.Reset(awaitPause)
	}
}

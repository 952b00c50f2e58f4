package klog

// #include "shim.h"
// #include <stdlib.h>
import "C"

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"
)

// Options say how to open log directories. The zero value is good for a program that owns them.
type Options struct {
	// CreateDirs makes directories that do not exist; without it they are ErrLogDirNotFound.
	CreateDirs bool
	// ReadOnly looks at directories that another process may own, such as a live broker's: nothing in them is changed or
	// locked, and Refresh takes in what the owner did since.
	ReadOnly bool
	// NoBackground leaves retention, compaction, flushes by time and checkpoints to calls of Tick. Without it a thread of
	// the library does them until Close. It follows from ReadOnly and Clock.
	NoBackground bool
	// Clock, if not zero, is the time that it is for the manager; it stands still, and Tick moves it. For tests.
	Clock time.Time
	// RecoveryThreads load and close logs, for each directory; 0 is num.recovery.threads.per.data.dir.
	RecoveryThreads int
	// HighWatermarkFromCheckpoint takes high watermarks from replication-offset-checkpoint, and leaves it to
	// Log.SetHighWatermark to move them. Without it they follow the log ends.
	HighWatermarkFromCheckpoint bool
	// NoMmap reads files instead of mapping them: for network file systems, and for data that another process may cut.
	// Touching a mapping behind the end of its file would end this process. A Fetch holds copies then.
	NoMmap bool
	// BrokerEpoch, if not nil, goes into the clean-shutdown files.
	BrokerEpoch *int64
	// Config is the configuration of the broker.
	Config Config
	// Topics are the overrides of single topics, by their names. A topic that is named here is managed: retention and
	// compaction take its logs.
	Topics map[string]Config
	// Properties is a text in the syntax of server.properties, also with topic.NAME.KEY lines. It is read behind Config.
	Properties string
}

// Manager is one or more log directories that are open. All its methods may be called from any goroutine at any time,
// also at once with Close.
type Manager struct {
	c       C.klog_manager
	handles handles
	// What holds records has a close that may fail.
	appenders handles
	waits     waits
	once      sync.Once
	closed    error
}

var checkABI = sync.OnceValue(func() error {
	err := cError()
	return newError(C.klog_abi_check(C.KLOG_ABI, C.KLOG_LAYOUT_HASH, &err), &err)
})

// Open opens log directories: it locks them, and loads and recovers every log in them. A log that cannot be loaded is told
// of in Report, and the others are served. Without dirs they are those of log.dirs in the configuration.
//
// Recovery may take long, and is not interrupted: ctx is looked at before it begins.
func Open(ctx context.Context, dirs []string, opts *Options) (*Manager, error) {
	if opts == nil {
		opts = &Options{}
	}
	if ctx.Err() != nil {
		return nil, cancelled(ctx)
	}
	if err := checkABI(); err != nil {
		return nil, err
	}
	config, failed := brokerConfig(opts)
	if failed != nil {
		return nil, failed
	}
	defer C.klog_config_close(config)

	// The paths are put into C's memory: a pointer to Go's may not stand in memory that the library reads.
	paths := (*[1 << 20]*C.char)(C.calloc(C.size_t(len(dirs)+1), C.size_t(unsafe.Sizeof((*C.char)(nil)))))
	defer C.free(unsafe.Pointer(paths))
	for i, dir := range dirs {
		paths[i] = C.CString(dir)
		defer C.free(unsafe.Pointer(paths[i]))
	}
	with := C.klog_manager_options{
		struct_size:      C.sizeof_klog_manager_options,
		dirs:             &paths[0],
		dir_count:        C.uint64_t(len(dirs)),
		config:           config,
		recovery_threads: C.uint32_t(opts.RecoveryThreads),
	}
	flag := func(is bool, bit C.uint32_t) {
		if is {
			with.flags |= bit
		}
	}
	flag(opts.CreateDirs, C.KLOG_OPEN_CREATE_DIRS)
	flag(opts.ReadOnly, C.KLOG_OPEN_READ_ONLY)
	flag(opts.NoMmap, C.KLOG_OPEN_NO_MMAP)
	flag(opts.HighWatermarkFromCheckpoint, C.KLOG_OPEN_HW_FROM_CHECKPOINT)
	flag(!opts.Clock.IsZero(), C.KLOG_OPEN_MANUAL_CLOCK)
	if !opts.Clock.IsZero() {
		with.now_ms = C.int64_t(opts.Clock.UnixMilli())
	}
	if opts.BrokerEpoch != nil {
		with.flags |= C.KLOG_OPEN_HAS_BROKER_EPOCH
		with.broker_epoch = C.int64_t(*opts.BrokerEpoch)
	}
	if !opts.NoBackground && !opts.ReadOnly && opts.Clock.IsZero() {
		with.background_threads = 1
	}
	m := &Manager{}
	err := cError()
	if status := C.klog_manager_open(&with, &m.c, &err); status != C.KLOG_OK {
		return nil, newError(status, &err)
	}
	return m, nil
}

// Close appends what appenders hold, closes every log in order, writes checkpoints and clean-shutdown files, and gives the directories back. Calls that
// run finish first, those that wait end with ErrClosed; logs, cursors and events of this manager answer it from now on. An error says what could not be
// stored; the next open recovers that. A second Close waits for the first, and answers the same.
func (m *Manager) Close() error {
	return m.close(0)
}

// Abandon closes without writing anything, as a crash would leave it; the next open recovers.
func (m *Manager) Abandon() error {
	return m.close(C.KLOG_CLOSE_ABANDON)
}

func (m *Manager) close(flags C.uint32_t) error {
	m.once.Do(func() {
		var leftover C.uint32_t
		if flags&C.KLOG_CLOSE_ABANDON != 0 {
			leftover = C.KLOG_CLOSE_DISCARD
		}
		failed := m.closeAppenders(leftover)
		err := cError()
		m.closed = newError(C.klog_manager_close(m.c, flags, -1, &err), &err)
		// One that was opened meanwhile.
		m.closeAppenders(C.KLOG_CLOSE_DISCARD)
		if m.closed == nil {
			m.closed = failed
		} else if failed != nil {
			m.closed = errors.Join(failed, m.closed)
		}
		m.waits.end()
		m.handles.removeAll()
	})
	return m.closed
}

// LogID names a log.
type LogID struct {
	Topic     string
	Partition int32
}

// String is topic-partition, the name of the log's directory.
func (id LogID) String() string { return id.Topic + "-" + strconv.Itoa(int(id.Partition)) }

func logID(name string) LogID {
	at := strings.LastIndexByte(name, '-')
	if at < 0 {
		return LogID{Topic: name}
	}
	partition, _ := strconv.ParseInt(name[at+1:], 10, 32)
	return LogID{Topic: name[:at], Partition: int32(partition)}
}

// LogEntry is a log of a manager, in Logs.
type LogEntry struct {
	LogID
	// Dir is the log's own directory.
	Dir string
	// TopicID as Kafka writes it, empty without one.
	TopicID string
	// Unmanaged: the topic was given no configuration, so that retention and compaction leave its logs alone.
	Unmanaged bool
	// Failed: it could not be loaded. Report says why.
	Failed bool
}

// Logs are all logs, sorted.
func (m *Manager) Logs() ([]LogEntry, error) {
	told, err := text(func(buf *C.char, size C.size_t, needed *C.size_t, err *C.klog_error) C.klog_status {
		return C.klog_manager_list(m.c, buf, size, needed, err)
	})
	if err != nil {
		return nil, err
	}
	var all []LogEntry
	for _, line := range lines(told) {
		of := append(fields(line), "", "", "", "")
		all = append(all, LogEntry{
			LogID: logID(of[0]), Dir: of[1], TopicID: of[2],
			Unmanaged: strings.Contains(of[3], "unmanaged"), Failed: strings.Contains(of[3], "failed"),
		})
	}
	return all, nil
}

// Finding is something that an open found or did.
type Finding struct {
	// Kind is recovered, repaired, ignored, config or failed.
	Kind string
	// Dir is the directory concerned.
	Dir string
	// Log is topic-partition, empty if none is concerned.
	Log string
	// Status is the name of one, empty without.
	Status string
	// Text is the sentence.
	Text string
}

// Report is what the open found and did.
func (m *Manager) Report() ([]Finding, error) {
	told, err := text(func(buf *C.char, size C.size_t, needed *C.size_t, err *C.klog_error) C.klog_status {
		return C.klog_manager_report(m.c, buf, size, needed, err)
	})
	if err != nil {
		return nil, err
	}
	var all []Finding
	for _, line := range lines(told) {
		of := append(fields(line), "", "", "", "", "")
		all = append(all, Finding{of[0], of[1], of[2], strings.TrimPrefix(of[3], "KLOG_ERR_"), of[4]})
	}
	return all, nil
}

// Info is a manager at a glance.
type Info struct {
	Logs                    uint64
	SegmentsRecovered       uint64
	BytesTruncated          uint64
	IndexesRebuilt          uint64
	DirsOnline, DirsOffline uint32
	OpenHandles             uint64 // of this process, of every kind and manager
	PinnedBytes             uint64 // that each Fetch of this manager's logs holds
}

// Info gives counts, and what the open did.
func (m *Manager) Info() (Info, error) {
	c := C.klog_manager_info{struct_size: C.sizeof_klog_manager_info}
	err := cError()
	status := C.klog_manager_get_info(m.c, &c, &err)
	return Info{
		Logs: uint64(c.logs), SegmentsRecovered: uint64(c.segments_recovered),
		BytesTruncated: uint64(c.bytes_truncated), IndexesRebuilt: uint64(c.indexes_rebuilt),
		DirsOnline: uint32(c.dirs_online), DirsOffline: uint32(c.dirs_offline), OpenHandles: uint64(c.open_handles),
		PinnedBytes: uint64(c.pinned_bytes),
	}, newError(status, &err)
}

// Dir is a log directory. Offline is nil while it works, else what took it out of use.
type Dir struct {
	Path    string
	Offline error
}

// Dirs are the log directories; their index is their number for Log.Move and Resolve.
func (m *Manager) Dirs() ([]Dir, error) {
	var dirs []Dir
	for {
		var state C.klog_status
		path, err := text(func(buf *C.char, size C.size_t, needed *C.size_t, err *C.klog_error) C.klog_status {
			return C.klog_manager_dir_info(m.c, C.uint32_t(len(dirs)), buf, size, needed, &state, err)
		})
		if e, is := err.(*Error); is && e.Status == statusEnd {
			return dirs, nil
		}
		if err != nil {
			return nil, err
		}
		dir := Dir{Path: path}
		if state != C.KLOG_OK {
			dir.Offline = Status(state)
		}
		dirs = append(dirs, dir)
	}
}

// Refresh takes in what the owner of the directories did since the last look, with Options.ReadOnly. Logs that were
// deleted answer ErrUnknownTopicOrPartition from now on.
func (m *Manager) Refresh() error {
	err := cError()
	return newError(C.klog_manager_refresh(m.c, C.klog_log{}, &err), &err)
}

// SetConfig changes broker keys while logs are open: all of them, or none if one cannot be changed.
func (m *Manager) SetConfig(changes Config) error {
	config, failed := cConfig(C.KLOG_CONFIG_BROKER, changes)
	if failed != nil {
		return failed
	}
	defer C.klog_config_close(config)
	err := cError()
	return newError(C.klog_manager_set_config(m.c, config, &err), &err)
}

// Flush makes every log durable.
func (m *Manager) Flush() error {
	err := cError()
	return newError(C.klog_flush_all(m.c, 0, &err), &err)
}

// Checkpoint writes the recovery points and log starts of all directories now.
func (m *Manager) Checkpoint() error {
	err := cError()
	return newError(C.klog_checkpoint(m.c, C.KLOG_CHECKPOINT_RECOVERY_POINT|C.KLOG_CHECKPOINT_LOG_START, &err), &err)
}

// Tick runs what is due: retention, compaction, flushes by time, checkpoints, removal of files. With Options.Clock it sets
// the clock to now first; without it now is not used. It answers when the next task is due.
func (m *Manager) Tick(now time.Time) (next time.Time, failed error) {
	result := C.klog_tick_result{struct_size: C.sizeof_klog_tick_result}
	err := cError()
	at := C.int64_t(-1)
	if !now.IsZero() {
		at = C.int64_t(now.UnixMilli())
	}
	if status := C.klog_tick(m.c, at, 0, &result, &err); status != C.KLOG_OK {
		return time.Time{}, newError(status, &err)
	}
	return time.UnixMilli(int64(result.next_due_ms)), nil
}

// Retry loads a log again that failed to load: its cause was mended.
func (m *Manager) Retry(id LogID) error {
	at, size := chars(id.Topic)
	err := cError()
	return newError(C.klog_log_retry(m.c, at, size, C.int32_t(id.Partition), &err), &err)
}

// Resolve drops one of the copies of a partition that was found in several directories: the one in directory dropDir.
func (m *Manager) Resolve(id LogID, dropDir int) error {
	at, size := chars(id.Topic)
	err := cError()
	return newError(C.klog_manager_resolve(m.c, at, size, C.int32_t(id.Partition), C.uint32_t(dropDir), &err), &err)
}

// Promote lets a copy that was on its way to another directory be the partition's log, where there is none. It may lack
// what was appended last.
func (m *Manager) Promote(id LogID) error {
	at, size := chars(id.Topic)
	err := cError()
	return newError(C.klog_log_promote(m.c, at, size, C.int32_t(id.Partition), &err), &err)
}

// WriteMeta says whose a directory is, by its number in Dirs: it writes the directory's meta.properties, so that a broker of
// that cluster takes it for its own. Nothing else writes that file. Without a directoryID it gets a random one. A file that
// says the same stays; ErrInvalidArgument if it says something else, or another directory is of another cluster or node.
func (m *Manager) WriteMeta(dir int, clusterID string, nodeID int32, directoryID *[16]byte) error {
	at, size := chars(clusterID)
	if at == nil {
		at = (*C.char)(first([]byte{}))
	}
	var id *C.uint8_t
	if directoryID != nil {
		id = (*C.uint8_t)(&directoryID[0])
	}
	err := cError()
	return newError(C.klog_meta_create(m.c, C.uint32_t(dir), at, size, C.int32_t(nodeID), id, &err), &err)
}

package klog_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	klog "klog/bindings/go"
)

func TestErrorsTellWhatHappenedInFields(t *testing.T) {
	log := created(t, nil)
	must[klog.AppendResult](t)(log.Append([]klog.Record{record("k", "v")}, nil))
	_, err := log.ReadRaw(ctx, 7, make([]byte, 100), nil)
	var e *klog.Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	if e.Status != klog.ErrOffsetOutOfRange || e.Kafka != 1 || e.Kafka.String() != "OFFSET_OUT_OF_RANGE" {
		t.Errorf("%+v", e)
	}
	if e.Topic != "orders" || e.Partition != 0 || e.Offset != 7 || e.Msg == "" {
		t.Errorf("%+v", e)
	}
	if !errors.Is(err, klog.ErrOffsetOutOfRange) || errors.Is(err, klog.ErrCorruptMessage) || errors.Is(err, os.ErrClosed) {
		t.Error("errors.Is", err)
	}
	if !strings.HasPrefix(err.Error(), "klog: orders-0: OFFSET_OUT_OF_RANGE: ") {
		t.Error(err)
	}
}

func TestRecordsAtFaultAreNamed(t *testing.T) {
	log := created(t, klog.Config{"cleanup.policy": "compact"})
	keyless := klog.Record{Value: []byte("v")}
	_, err := log.Append([]klog.Record{record("k", "v"), keyless, record("k", "w"), keyless}, nil)
	var e *klog.Error
	if !errors.As(err, &e) || len(e.Refused) != 2 || e.Refused[0].Index != 1 || e.Refused[1].Index != 3 {
		t.Fatalf("%+v", e)
	}
	if e.Refused[0].Kafka.String() != "INVALID_RECORD" {
		t.Error(e.Refused[0].Kafka)
	}
}

func TestTheStandardLibrarysErrorsAreFound(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	if _, err := klog.Open(ctx, []string{missing}, nil); !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, klog.ErrLogDirNotFound) {
		t.Error(err)
	}
	manager := opened(t, nil)
	if _, err := manager.Log("none", 0, nil); !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, klog.ErrUnknownTopicOrPartition) {
		t.Error(err)
	}
	if _, err := manager.Log("", 0, nil); !errors.Is(err, klog.ErrInvalidTopic) {
		t.Error(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	os.WriteFile(file, nil, 0o600)
	_, err := klog.Open(ctx, []string{filepath.Join(file, "below")}, &klog.Options{CreateDirs: true})
	if !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("%#v", err)
	}
}

func TestADirectoryHasOneOwner(t *testing.T) {
	dir := t.TempDir()
	manager := must[*klog.Manager](t)(klog.Open(ctx, []string{dir}, nil))
	defer manager.Close()
	_, err := klog.Open(ctx, []string{dir}, nil)
	if !errors.Is(err, klog.ErrDirLocked) {
		t.Error(err)
	}
}

func TestConfigurationIsCheckedAtOnce(t *testing.T) {
	for _, c := range []struct {
		opts klog.Options
		is   klog.Status
	}{
		{klog.Options{Config: klog.Config{"log.segment.bytse": "1"}}, klog.ErrUnknownConfig},
		{klog.Options{Config: klog.Config{"log.segment.bytes": "many"}}, klog.ErrInvalidConfig},
		{klog.Options{Topics: map[string]klog.Config{"orders": {"retention.ms": "soon"}}}, klog.ErrInvalidConfig},
		{klog.Options{Properties: "log.retention.ms=soon\n"}, klog.ErrInvalidConfig},
	} {
		if _, err := klog.Open(ctx, []string{t.TempDir()}, &c.opts); !errors.Is(err, c.is) {
			t.Errorf("%+v: %v", c.opts, err)
		}
	}
	manager := opened(t, nil)
	if err := manager.SetConfig(klog.Config{"log.retention.ms": "60000"}); err != nil {
		t.Error(err)
	}
	if err := manager.SetConfig(klog.Config{"log.dirs": "elsewhere"}); !errors.Is(err, klog.ErrInvalidConfig) {
		t.Error(err)
	}
	log := logOf(t, manager, nil)
	if err := log.SetConfig(klog.TopicConfig{Compact: true}.Config()); err != nil {
		t.Error(err)
	}
}

func TestTypedTopicConfigurationBecomesKafkasKeys(t *testing.T) {
	config := klog.TopicConfig{
		Compact: true, Retention: 2 * time.Hour, RetentionBytes: -5, SegmentBytes: 1 << 20, SegmentAge: time.Minute,
		MaxMessageBytes: 5000, DeleteRetention: time.Second, Compression: klog.CompressionNone, LogAppendTime: true,
		Other: klog.Config{"min.cleanable.dirty.ratio": "0.1"},
	}.Config()
	expected := klog.Config{
		"cleanup.policy": "compact,delete", "retention.ms": "7200000", "retention.bytes": "-1", "segment.bytes": "1048576",
		"segment.ms": "60000", "max.message.bytes": "5000", "delete.retention.ms": "1000", "compression.type": "uncompressed",
		"message.timestamp.type": "LogAppendTime", "min.cleanable.dirty.ratio": "0.1",
	}
	for key, value := range expected {
		if config[key] != value {
			t.Errorf("%s=%s, expected %s", key, config[key], value)
		}
	}
	if len(config) != len(expected) {
		t.Error(config)
	}
	created(t, config)
	if keys := must[[]klog.ConfigKey](t)(klog.ConfigKeys()); len(keys) < 50 || keys[0].Name == "" || keys[0].Type == "" {
		t.Errorf("%d keys", len(keys))
	}
}

func TestAContextThatIsDoneEndsACallBeforeItBegins(t *testing.T) {
	log := created(t, klog.Config{"cleanup.policy": "compact"})
	done, cancel := context.WithCancelCause(ctx)
	reason := errors.New("the reason")
	cancel(reason)
	_, err := log.Clean(done, nil)
	if !errors.Is(err, klog.ErrCancelled) || !errors.Is(err, context.Canceled) || !errors.Is(err, reason) {
		t.Error(err)
	}
	late, cancelLate := context.WithDeadline(ctx, time.Unix(1, 0))
	defer cancelLate()
	for _, err := range log.Records(late, 0) {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	}
	if err := log.Move(late, 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if _, err := klog.Open(done, []string{t.TempDir()}, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestACleanThatRunsIsEndedByItsContext(t *testing.T) {
	log := created(t, klog.Config{"cleanup.policy": "compact"})
	batch := &klog.Batch{}
	value := make([]byte, 1000)
	for i := range 2000 {
		batch.Reset()
		for j := range 10 {
			batch.AddKeyValue([]byte{byte(i), byte(j)}, value, time.UnixMilli(t0))
		}
		must[klog.AppendResult](t)(log.AppendBatch(batch, nil))
	}
	within, cancel := context.WithCancel(ctx)
	seen := make(chan klog.CleanProgress, 1000)
	begun := time.Now()
	// So slowly that it would take minutes.
	_, err := log.Clean(within, &klog.CleanOptions{
		Roll: true, BytesPerSecond: 200000, ProgressEvery: time.Millisecond,
		Progress: func(p klog.CleanProgress) {
			seen <- p
			cancel()
		},
	})
	if !errors.Is(err, klog.ErrCancelled) || !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Error(took)
	}
	if p := <-seen; p.Phase == klog.CleanIdle || p.BytesTotal == 0 || p.EndOffset == 0 {
		t.Errorf("%+v", p)
	}
	result, err := log.Clean(ctx, nil)
	if err != nil || result.RecordsKept != 2560 {
		t.Errorf("%+v %v", result, err)
	}
	if err := log.AwaitCleaned(ctx, result.FirstDirtyOffset); err != nil {
		t.Error(err)
	}
	short, cancelShort := context.WithTimeout(ctx, 30*time.Millisecond)
	defer cancelShort()
	if err := log.AwaitCleaned(short, 1<<40); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if err := log.PauseCleaning(); err != nil {
		t.Error(err)
	}
	if _, err := log.Clean(ctx, nil); !errors.Is(err, klog.ErrCleanPaused) {
		t.Error(err)
	}
	if err := log.ResumeCleaning(); err != nil {
		t.Error(err)
	}
}

package klog_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	klog "klog/bindings/go"
)

func TestAManagerTellsOfItsLogs(t *testing.T) {
	dirs := []string{t.TempDir(), filepath.Join(t.TempDir(), "made")}
	manager := must[*klog.Manager](t)(klog.Open(ctx, dirs, &klog.Options{
		CreateDirs: true, NoBackground: true, Topics: map[string]klog.Config{"b-c": {"retention.ms": "5"}},
	}))
	defer manager.Close()
	id := [16]byte{1, 2, 3}
	first := must[*klog.Log](t)(manager.Log("b-c", 12, &klog.LogOptions{Create: true, TopicID: &id, Dir: dirs[1]}))
	if info := must[klog.LogInfo](t)(first.Info()); info.TopicID == nil || *info.TopicID != id || info.FirstDirtyOffset != -1 {
		t.Errorf("%+v", info)
	}
	logOf(t, manager, nil)
	logs := must[[]klog.LogEntry](t)(manager.Logs())
	if len(logs) != 2 || logs[0].LogID != (klog.LogID{Topic: "b-c", Partition: 12}) || logs[0].Dir != filepath.Join(dirs[1], "b-c-12") || logs[0].TopicID == "" {
		t.Errorf("%#v", logs)
	}
	if err := first.Move(t.Context(), 0); err != nil {
		t.Error(err)
	}
	if logs := must[[]klog.LogEntry](t)(manager.Logs()); logs[0].Dir != filepath.Join(dirs[0], "b-c-12") {
		t.Errorf("%#v", logs)
	}
	all := must[[]klog.Dir](t)(manager.Dirs())
	if len(all) != 2 || all[0].Path != dirs[0] || all[1].Path != dirs[1] || all[0].Offline != nil {
		t.Errorf("%+v", all)
	}
	if info := must[klog.Info](t)(manager.Info()); info.Logs != 2 || info.DirsOnline != 2 {
		t.Errorf("%+v", info)
	}
	if err := first.Delete(); err != nil {
		t.Error(err)
	}
	if _, err := first.Info(); !errors.Is(err, klog.ErrUnknownTopicOrPartition) {
		t.Error(err)
	}
	if err := errors.Join(manager.Checkpoint(), manager.Flush()); err != nil {
		t.Error(err)
	}
	if err := manager.Retry(klog.LogID{Topic: "none"}); !errors.Is(err, klog.ErrUnknownTopicOrPartition) {
		t.Error(err)
	}
	if err := manager.Resolve(klog.LogID{Topic: "orders"}, 0); !errors.Is(err, klog.ErrInvalidArgument) {
		t.Error(err)
	}
}

func TestAReadOnlyManagerFollowsTheOwner(t *testing.T) {
	dir := t.TempDir()
	owner := must[*klog.Manager](t)(klog.Open(ctx, []string{dir}, nil))
	defer owner.Close()
	log := logOf(t, owner, nil)
	must[int64](t)(log.AppendOne(nil, []byte("first"), time.Time{}))
	looking := must[*klog.Manager](t)(klog.Open(ctx, []string{dir}, &klog.Options{ReadOnly: true}))
	defer looking.Close()
	seen := must[*klog.Log](t)(looking.Log("orders", 0, nil))
	if end := must[int64](t)(seen.EndOffset()); end != 1 {
		t.Error(end)
	}
	must[int64](t)(log.AppendOne(nil, []byte("second"), time.Time{}))
	if err := errors.Join(seen.Refresh(), looking.Refresh()); err != nil {
		t.Error(err)
	}
	if end := must[int64](t)(seen.EndOffset()); end != 2 {
		t.Error(end)
	}
	if _, err := seen.AppendOne(nil, nil, time.Time{}); !errors.Is(err, klog.ErrReadOnly) {
		t.Error(err)
	}
}

func TestACrashIsReportedByTheNextOpen(t *testing.T) {
	dir := t.TempDir()
	manager := must[*klog.Manager](t)(klog.Open(ctx, []string{dir}, nil))
	must[int64](t)(logOf(t, manager, nil).AppendOne(nil, []byte("v"), time.Time{}))
	if err := manager.Abandon(); err != nil {
		t.Error(err)
	}
	manager = must[*klog.Manager](t)(klog.Open(ctx, []string{dir}, nil))
	defer manager.Close()
	report := must[[]klog.Finding](t)(manager.Report())
	if len(report) == 0 || report[0].Kind != "recovered" || report[0].Log != "orders-0" || report[0].Text == "" {
		t.Errorf("%+v", report)
	}
	if end := must[int64](t)(logOf(t, manager, nil).EndOffset()); end != 1 {
		t.Error(end)
	}
}

func TestTheHighWatermarkCanBeTheCallers(t *testing.T) {
	log := must[*klog.Log](t)(opened(t, nil).Log("orders", 0, &klog.LogOptions{Create: true, ManualHighWatermark: true}))
	must[klog.AppendResult](t)(log.Append(make([]klog.Record, 1), nil))
	must[klog.AppendResult](t)(log.Append(make([]klog.Record, 1), nil))
	if now := must[int64](t)(log.SetHighWatermark(1)); now != 1 {
		t.Error(now)
	}
	r := must[klog.ReadResult](t)(log.ReadRaw(ctx, 0, make([]byte, 1000), &klog.ReadOptions{Isolation: klog.HighWatermark}))
	if r.Batches != 1 || r.HighWatermark != 1 || r.LogEndOffset != 2 {
		t.Errorf("%+v", r)
	}
	if err := errors.Join(log.AssignEpoch(3, 2), log.TruncateFully(10, -1), log.Flush(-1)); err != nil {
		t.Error(err)
	}
	if info := must[klog.LogInfo](t)(log.Info()); info.LogStartOffset != 10 || info.LogEndOffset != 10 {
		t.Errorf("%+v", info)
	}
}

func TestMetricsHaveKafkasNames(t *testing.T) {
	log := created(t, nil)
	must[int64](t)(log.AppendOne(nil, []byte("v"), time.Time{}))
	values := map[string]uint64{}
	for _, metric := range must[[]klog.Metric](t)(log.Metrics()) {
		_, name, _ := strings.Cut(metric.Name, "name=")
		values[name] = metric.Value
		if metric.Help == "" {
			t.Errorf("%+v", metric)
		}
	}
	if values["LogEndOffset"] != 1 || values["NumLogSegments"] != 1 {
		t.Error(values)
	}
}

func TestMetricsOfAManagerAreTextToo(t *testing.T) {
	manager := opened(t, nil)
	logOf(t, manager, nil)
	if all := must[[]klog.Metric](t)(manager.Metrics()); len(all) < 10 {
		t.Error(len(all))
	}
	text := must[string](t)(manager.MetricsText())
	if !strings.HasSuffix(text, "# EOF\n") || !strings.Contains(text, "orders") {
		t.Error(text)
	}
}

func TestEventsGoToALogger(t *testing.T) {
	manager := must[*klog.Manager](t)(klog.Open(ctx, []string{t.TempDir()}, &klog.Options{NoBackground: true}))
	events := must[*klog.Events](t)(manager.Events(0, 0))
	defer events.Close()
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	for event, err := range events.All(short) {
		t.Error(event, err)
	}
	lines := make(lines, 100)
	done := make(chan error)
	go func() {
		done <- events.LogTo(ctx, slog.New(slog.NewTextHandler(lines, &slog.HandlerOptions{Level: slog.LevelDebug})))
	}()
	log := logOf(t, manager, nil)
	must[int64](t)(log.AppendOne(nil, []byte("v"), time.Time{}))
	must[int64](t)(log.Roll())
	must[bool](t)(log.TruncateTo(0))
	for _, wanted := range []string{
		"level=INFO msg=log-created klog.dir=", "level=DEBUG msg=rolled", "level=INFO msg=truncated",
	} {
		if line := <-lines; !strings.Contains(line, wanted) || !strings.Contains(line, "klog.log=orders-0") {
			t.Errorf("no %s in %s", wanted, line)
		}
	}
	if err := errors.Join(manager.Close(), <-done); err != nil {
		t.Error(err)
	}
}

// lines takes what a handler writes, a line each.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// An event wakes who waits for it, time after time.
func TestEventsWakeAPollThatWaits(t *testing.T) {
	manager := opened(t, nil)
	log := logOf(t, manager, nil)
	events := must[*klog.Events](t)(manager.Events(klog.EventRolled, 0))
	defer events.Close()
	for range 50 {
		go func() {
			log.AppendOne(nil, []byte("v"), time.Time{})
			log.Roll()
		}()
		within, cancel := context.WithTimeout(ctx, 20*time.Second)
		got, err := events.Poll(within)
		cancel()
		if err != nil || len(got) != 1 || got[0].Kind != "rolled" {
			t.Fatalf("%+v %v", got, err)
		}
	}
}

func TestRetentionCountsBeforeItTakes(t *testing.T) {
	manager := opened(t, &klog.Options{Clock: time.UnixMilli(t0)})
	log := logOf(t, manager, klog.TopicConfig{Retention: time.Second}.Config())
	must[klog.AppendResult](t)(log.Append([]klog.Record{record("k", "v")}, nil))
	must[time.Time](t)(manager.Tick(time.UnixMilli(t0 + 5000)))
	dry := must[klog.RetainResult](t)(log.Retain(&klog.RetainOptions{DryRun: true}))
	wet := must[klog.RetainResult](t)(manager.Retain(nil))
	if dry.Segments != 1 || wet.Segments != 1 || dry.Bytes != wet.Bytes || dry.LogStartOffset != 1 || wet.LogStartOffset != -1 {
		t.Errorf("%+v %+v", dry, wet)
	}
	if start := must[klog.LogInfo](t)(log.Info()).LogStartOffset; start != 1 {
		t.Error(start)
	}
}

func TestCompactionOfAllLogsTakesTheDirtyOnes(t *testing.T) {
	manager := opened(t, nil)
	log := logOf(t, manager, klog.TopicConfig{Compact: true}.Config())
	for range 5 {
		must[klog.AppendResult](t)(log.Append([]klog.Record{record("k", "v")}, nil))
	}
	must[int64](t)(log.Roll())
	dry := must[klog.CleanResult](t)(manager.Clean(ctx, &klog.CleanOptions{DryRun: true}))
	wet := must[klog.CleanResult](t)(manager.Clean(ctx, nil))
	if dry.DroppedSuperseded != 4 || wet.DroppedSuperseded != 4 || wet.RecordsKept != 1 || wet.Logs != 1 {
		t.Errorf("%+v %+v", dry, wet)
	}
}

package klog_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	klog "klog/bindings/go"
)

func TestTheLibraryTellsWhatItIs(t *testing.T) {
	all := klog.FeatureGzip | klog.FeatureSnappy | klog.FeatureLZ4 | klog.FeatureZstd | klog.FeatureMmap
	if is := klog.Features(); is&all != all {
		t.Errorf("%b", is)
	}
	n := klog.LibraryVersionNumber()
	if text := fmt.Sprintf("%d.%d.%d", n>>16, n>>8&255, n&255); !strings.HasPrefix(klog.LibraryVersion(), text) {
		t.Error(text, klog.LibraryVersion())
	}
}

func TestConfigurationTellsWhatIsInEffect(t *testing.T) {
	if value := must[string](t)(klog.Config{}.BrokerValue("log.segment.bytes")); value != "1073741824" {
		t.Error(value)
	}
	if value := must[string](t)(klog.Config{"log.retention.ms": "5"}.BrokerValue("log.retention.ms")); value != "5" {
		t.Error(value)
	}
	if value := must[string](t)(klog.TopicConfig{Compact: true}.Config().TopicValue("cleanup.policy")); value != "compact" {
		t.Error(value)
	}
	if value := must[string](t)(klog.Config(nil).TopicValue("cleanup.policy")); value != "delete" {
		t.Error(value)
	}
	for _, key := range []string{"", "no.such.key"} {
		if _, err := (klog.Config{}).TopicValue(key); !errors.Is(err, klog.ErrUnknownConfig) {
			t.Error(err)
		}
	}
	if _, err := (klog.Config{"retention.ms": "x"}).TopicValue("retention.ms"); !errors.Is(err, klog.ErrInvalidConfig) {
		t.Error(err)
	}
}

func TestADirectoryIsGivenToABroker(t *testing.T) {
	dir := t.TempDir()
	manager := must[*klog.Manager](t)(klog.Open(ctx, []string{dir}, &klog.Options{NoBackground: true}))
	defer manager.Close()
	id := [16]byte{1, 2, 3}
	for range 2 {
		if err := manager.WriteMeta(0, "the-cluster", 7, &id); err != nil {
			t.Fatal(err)
		}
	}
	written := string(must[[]byte](t)(os.ReadFile(filepath.Join(dir, "meta.properties"))))
	for _, line := range []string{"version=1", "cluster.id=the-cluster", "node.id=7", "directory.id=" + base64.RawURLEncoding.EncodeToString(id[:])} {
		if !strings.Contains(written, line+"\n") {
			t.Errorf("%q is missing in %q", line, written)
		}
	}
	var e *klog.Error
	if err := manager.WriteMeta(0, "another", 7, nil); !errors.As(err, &e) || e.Status != klog.ErrInvalidArgument {
		t.Error(err)
	}
	if err := manager.WriteMeta(0, "", 7, nil); !errors.Is(err, klog.ErrInvalidArgument) {
		t.Error(err)
	}
}

func TestAnOpeningTellsHowFarItIs(t *testing.T) {
	dir := t.TempDir()
	manager := must[*klog.Manager](t)(klog.Open(ctx, []string{dir}, &klog.Options{NoBackground: true}))
	const logs = 100
	for i := range logs {
		log := must[*klog.Log](t)(manager.Log("topic", int32(i), &klog.LogOptions{Create: true}))
		must[int64](t)(log.AppendOne(nil, make([]byte, 10000), time.Time{}))
	}
	if err := manager.Abandon(); err != nil {
		t.Fatal(err)
	}
	if _, is, err := klog.Opening(dir); is || err != nil {
		t.Error(is, err)
	}
	// Whether an opening is seen is a matter of luck; so as many are made as it takes.
	seen, begun := 0, time.Now()
	for seen == 0 && time.Since(begun) < time.Minute {
		opening := make(chan *klog.Manager, 1)
		go func() {
			opening <- must[*klog.Manager](t)(klog.Open(ctx, []string{dir}, &klog.Options{NoBackground: true}))
		}()
		for open := true; open; {
			select {
			case manager = <-opening:
				open = false
			default:
				progress, is, err := klog.Opening(dir)
				if err != nil {
					t.Fatal(err)
				}
				for _, log := range progress.Loading {
					if log.Topic != "topic" || log.Partition < 0 || log.Partition >= logs || log.BytesDone > log.BytesTotal {
						t.Errorf("%+v", log)
					}
				}
				if is && progress.Logs == logs && progress.LogsLeft <= logs && progress.BytesDone <= progress.BytesTotal {
					seen++
				}
			}
		}
		manager.Abandon()
	}
	if seen == 0 {
		t.Error("it was never seen")
	}
}

func TestFilesThatAreNotMappedReadTheSame(t *testing.T) {
	manager := opened(t, &klog.Options{NoBackground: true, NoMmap: true})
	log, raw := fetchable(t, manager, 3)
	f := must[*klog.Fetch](t)(log.Fetch(ctx, 0, nil))
	defer f.Close()
	if string(f.Bytes()) != string(raw) {
		t.Error("other bytes")
	}
	cut := must[*klog.Fetch](t)(log.Fetch(ctx, 0, &klog.ReadOptions{Slice: true, NoMinOne: true, MaxBytes: 70}))
	defer cut.Close()
	if string(cut.Bytes()) != string(raw[:70]) {
		t.Error(cut.Len())
	}
}

package klog_test

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	klog "klog/bindings/go"
)

const fixtures = "../../tests/fixtures/"

// unpacked is a copy of a directory that Kafka wrote.
func unpacked(t testing.TB, name string) string {
	t.Helper()
	file, err := os.Open(fixtures + name + ".tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for archive := tar.NewReader(plain); ; {
		entry, err := archive.Next()
		if err == io.EOF {
			return filepath.Join(dir, name)
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, entry.Name)
		if entry.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		os.MkdirAll(filepath.Dir(path), 0o755)
		bytes, err := io.ReadAll(archive)
		if err == nil {
			err = os.WriteFile(path, bytes, 0o644)
		}
		if err == nil {
			err = os.Chtimes(path, entry.ModTime, entry.ModTime)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// expectation is what a log's text says of its records: those that can be read.
type expectation struct {
	start, end int64
	records    []string
}

// expected takes the records out of a fixture's text (tests/fixtures/README.md, section 2).
func expected(t *testing.T, name string) map[string]*expectation {
	t.Helper()
	file, err := os.Open(fixtures + name + ".expected.txt.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	logs := map[string]*expectation{}
	var log *expectation
	lines := bufio.NewScanner(plain)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		kind, rest, _ := strings.Cut(line, " ")
		switch kind {
		case "log":
			var id string
			log = &expectation{}
			fmt.Sscanf(rest, "%s start=%d end=%d", &id, &log.start, &log.end)
			logs[id] = log
		case "rec", "ctl":
			var offset, at int64
			fmt.Sscanf(rest, "%d ts=%d", &offset, &at)
			if kind == "ctl" {
				line = fmt.Sprintf("ctl %d ts=%d", offset, at)
			}
			if offset >= log.start {
				log.records = append(log.records, line)
			}
		}
	}
	return logs
}

// line is a record as the texts have it.
func line(r *klog.Record) string {
	if r.Attrs&klog.Control != 0 {
		return fmt.Sprintf("ctl %d ts=%d", r.Offset, r.Timestamp.UnixMilli())
	}
	text := fmt.Sprintf("rec %d ts=%d key=%s value=%s", r.Offset, r.Timestamp.UnixMilli(), field(r.Key), field(r.Value))
	for i, header := range r.Headers {
		text += [...]string{" headers=", ","}[min(i, 1)] + field([]byte(header.Key)) + ":" + field(header.Value)
	}
	return text
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func field(b []byte) string {
	switch {
	case b == nil:
		return "null"
	case len(b) == 0:
		return "empty"
	case len(b) <= 64:
		return fmt.Sprintf("%x", b)
	}
	return fmt.Sprintf("#%d/%08x", len(b), crc32.Checksum(b, castagnoli))
}

func TestDirectoriesThatKafkaWroteReadAsTheirTextsSay(t *testing.T) {
	for _, name := range []string{"kafka-4.4.0-broker", "kafka-4.4.0-mixed", "kafka-3.9.1-clean", "kafka-legacy"} {
		for _, mode := range []string{"read-only", "owned"} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				opts := &klog.Options{ReadOnly: mode == "read-only", NoBackground: true}
				manager, err := klog.Open(context.Background(), []string{unpacked(t, name)}, opts)
				if err != nil {
					t.Fatal(err)
				}
				compare(t, manager, expected(t, name))
				if err := manager.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func compare(t *testing.T, manager *klog.Manager, logs map[string]*expectation) {
	entries, err := manager.Logs()
	if err != nil || len(entries) != len(logs) {
		t.Fatalf("%d logs, expected %d: %v", len(entries), len(logs), err)
	}
	total := 0
	for _, entry := range entries {
		expected := logs[entry.String()]
		log, err := manager.Log(entry.Topic, entry.Partition, nil)
		if err != nil || expected == nil {
			t.Fatal(entry, err)
		}
		info, err := log.Info()
		if err != nil || info.LogStartOffset != expected.start || info.LogEndOffset != expected.end {
			t.Errorf("%s: %+v, %v", entry, info, err)
		}
		cursor, err := log.Cursor(info.LogStartOffset, &klog.ReadOptions{Control: true})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for ; ; n++ {
			record, err := cursor.Next(ctx)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if n >= len(expected.records) || line(record) != expected.records[n] {
				t.Fatalf("%s: record %d is %s", entry, n, line(record))
			}
		}
		if n != len(expected.records) {
			t.Errorf("%s: %d records, expected %d", entry, n, len(expected.records))
		}
		total += n
	}
	t.Logf("%d logs, %d records", len(logs), total)
	if total == 0 {
		t.Error("nothing was compared")
	}
}

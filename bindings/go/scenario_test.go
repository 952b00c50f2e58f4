package klog_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	klog "klog/bindings/go"
)

// The scenarios that every binding runs: what Kafka answered to each step (tests/scenarios/README.md).

const t0 = 1000000000000

func TestScenariosGetTheAnswersThatKafkaGave(t *testing.T) {
	files, err := filepath.Glob("../../tests/scenarios/*.scn")
	if err != nil || len(files) < 5 {
		t.Fatalf("%v: %v", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".scn"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := &scenario{t: t, dir: t.TempDir(), now: t0}
			s.open()
			for number, line := range strings.Split(string(text), "\n") {
				line, _, _ = strings.Cut(line, "#")
				step, expected, told := strings.Cut(line, ">")
				words, expected := strings.Fields(step), strings.TrimSpace(expected)
				if len(words) == 0 {
					continue
				}
				answer := s.step(words)
				// A step without an expectation may tell what it did, but must not be refused.
				if answer != expected && (told || !strings.Contains(answer, "..")) {
					t.Errorf("line %d: %s: %q, expected %q", number+1, words[0], answer, expected)
				}
			}
			if err := s.manager.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

type scenario struct {
	t       *testing.T
	dir     string
	now     int64
	manager *klog.Manager
	log     *klog.Log
	topic   string
	config  klog.Config
}

func (s *scenario) open() {
	// Nothing is done by time: each step asks for what it wants.
	manager, err := klog.Open(context.Background(), []string{s.dir}, &klog.Options{
		Clock:  time.UnixMilli(s.now),
		Config: klog.Config{"log.initial.task.delay.ms": "9223372036854775807"},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.manager = manager
}

func (s *scenario) openTopic() {
	log, err := s.manager.Log(s.topic, 0, &klog.LogOptions{Create: true, Config: s.config})
	if err != nil {
		s.t.Fatal(err)
	}
	s.log = log
}

func (s *scenario) step(words []string) string {
	ctx := context.Background()
	number := func(i int) int64 {
		n, err := strconv.ParseInt(words[i], 10, 64)
		if err != nil {
			s.t.Fatal(err)
		}
		return n
	}
	switch words[0] {
	case "topic":
		s.topic, s.config = words[1], klog.Config{}
		for _, word := range words[2:] {
			key, value, _ := strings.Cut(word, "=")
			s.config[key] = value
		}
		s.openTopic()
	case "now":
		s.now = timeOf(words[1])
		if _, err := s.manager.Tick(time.UnixMilli(s.now)); err != nil {
			return refusal(err)
		}
	case "append", "append_none":
		return s.append(words[1:], nil)
	case "append_as":
		return s.append(words[4:], &klog.AppendOptions{Producer: &klog.Producer{
			ID: number(1), Epoch: int16(number(2)), BaseSequence: int32(number(3)),
		}})
	case "append_spoiled":
		return s.appendSpoiled(words[1:])
	case "read":
		opts := &klog.ReadOptions{}
		if len(words) > 2 {
			opts.MaxBytes = uint64(number(2))
		}
		return s.read(number(1), opts)
	case "scan":
		return s.scan(number(1))
	case "find":
		found, err := s.log.OffsetForTime(time.UnixMilli(timeOf(words[1])))
		if err != nil {
			return refusal(err)
		}
		if found.Offset < 0 {
			return "none"
		}
		return fmt.Sprintf("%d@%s epoch=%d", found.Offset, timeText(found.Timestamp), found.LeaderEpoch)
	case "segments":
		return s.segments()
	case "drop_indexes":
		files, _ := filepath.Glob(filepath.Join(s.dir, s.topic+"-0", "*index"))
		for _, file := range files {
			os.Remove(file)
		}
	case "add_bytes":
		name := filepath.Join(s.dir, s.topic+"-0", fmt.Sprintf("%020d.log", number(1)))
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			s.t.Fatal(err)
		}
		file.Write(valueOf(words[2]))
		file.Close()
	case "end":
		end, err := s.log.EndOffset()
		return answer(err, end)
	case "roll":
		base, err := s.log.Roll()
		return answer(err, base)
	case "retain":
		retained, err := s.log.Retain(nil)
		return answer(err, fmt.Sprintf("deleted=%d start=%d", retained.Segments, retained.LogStartOffset))
	case "delete_records":
		start, err := s.log.DeleteRecords(number(1))
		return answer(err, fmt.Sprintf("start=%d", start))
	case "truncate":
		cut, err := s.log.TruncateTo(number(1))
		return answer(err, cut)
	case "clean":
		c, err := s.log.Clean(ctx, &klog.CleanOptions{Roll: len(words) > 1})
		return answer(err, fmt.Sprintf("first_dirty=%d read=%d kept=%d bytes=%d->%d",
			c.FirstDirtyOffset, c.RecordsRead, c.RecordsKept, c.BytesRead, c.BytesWritten))
	case "close":
		if err := s.manager.Close(); err != nil {
			return refusal(err)
		}
	case "reopen":
		if len(words) > 1 {
			os.Remove(filepath.Join(s.dir, ".kafka_cleanshutdown"))
		}
		s.open()
		s.openTopic()
	default:
		s.t.Errorf("no verb %s", words[0])
	}
	return ""
}

func (s *scenario) append(words []string, opts *klog.AppendOptions) string {
	var records []klog.Record
	for _, word := range words {
		records = append(records, s.record(word))
	}
	r, err := s.log.Append(records, opts)
	if err != nil {
		return refusal(err)
	}
	return fmt.Sprintf("%d..%d bytes=%d max_ts=%s append_time=%s start=%d", r.FirstOffset, r.LastOffset, r.Bytes,
		timeText(r.MaxTimestamp), timeText(r.LogAppendTime), r.LogStartOffset)
}

// appendSpoiled appends a ready batch with one byte of its last record changed: made in a log of its own.
func (s *scenario) appendSpoiled(words []string) string {
	wanted := s.log
	scratch, err := s.manager.Log("scratch", 0, &klog.LogOptions{Create: true})
	if err != nil {
		return refusal(err)
	}
	defer scratch.Close()
	s.log = scratch
	s.append(words, nil)
	s.log = wanted
	buf := make([]byte, 4096)
	read, err := scratch.ReadRaw(context.Background(), 0, buf, nil)
	if err != nil {
		return refusal(err)
	}
	buf[read.Bytes-2] ^= 1
	r, err := s.log.AppendRaw(buf[:read.Bytes], nil)
	return answer(err, fmt.Sprintf("%d..%d", r.FirstOffset, r.LastOffset))
}

func (s *scenario) read(from int64, opts *klog.ReadOptions) string {
	buf := make([]byte, 1<<20)
	r, err := s.log.ReadRaw(context.Background(), from, buf, opts)
	if err != nil {
		return refusal(err)
	}
	if r.Bytes == 0 {
		return "empty"
	}
	var batches []string
	for rest := buf[:r.Bytes]; len(rest) > 0; {
		var batch klog.RawBatch
		batch, rest = klog.NextBatch(rest)
		batches = append(batches, fmt.Sprintf("%d..%d", batch.BaseOffset(), batch.LastOffset()))
	}
	return fmt.Sprintf("bytes=%d %s", r.Bytes, strings.Join(batches, ","))
}

func (s *scenario) scan(from int64) string {
	cursor, err := s.log.Cursor(from, nil)
	if err != nil {
		return refusal(err)
	}
	defer cursor.Close()
	var all []string
	for {
		r, err := cursor.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return refusal(err)
		}
		text := fmt.Sprintf("%d:%s=%s@%s", r.Offset, bytesText(r.Key), bytesText(r.Value), timeText(r.Timestamp))
		for _, header := range r.Headers {
			text += ";" + header.Key + "=" + bytesText(header.Value)
		}
		all = append(all, text)
	}
	if all == nil {
		return "empty"
	}
	return strings.Join(all, " ")
}

// segments are told from the files.
func (s *scenario) segments() string {
	files, _ := filepath.Glob(filepath.Join(s.dir, s.topic+"-0", "*.log"))
	slices.Sort(files)
	var all []string
	for _, file := range files {
		base, _ := strconv.ParseInt(strings.TrimSuffix(filepath.Base(file), ".log"), 10, 64)
		stat, err := os.Stat(file)
		if err != nil {
			s.t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%d:%d", base, stat.Size()))
	}
	return strings.Join(all, " ")
}

// record reads KEY=VALUE@TIME;NAME=VALUE.
func (s *scenario) record(text string) klog.Record {
	text, header, hasHeader := strings.Cut(text, ";")
	at := s.now
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		at, text = timeOf(text[i+1:]), text[:i]
	}
	key, value, _ := strings.Cut(text, "=")
	record := klog.Record{Key: valueOf(key), Value: valueOf(value), Timestamp: time.UnixMilli(at)}
	if hasHeader {
		name, value, _ := strings.Cut(header, "=")
		record.Headers = []klog.Header{{Key: name, Value: valueOf(value)}}
	}
	return record
}

// valueOf reads a value: bare, null, x'hex', c*N.
func valueOf(text string) []byte {
	if text == "null" {
		return nil
	}
	if strings.HasPrefix(text, "x'") {
		value, _ := hex.DecodeString(strings.Trim(text[1:], "'"))
		return value
	}
	if char, times, is := strings.Cut(text, "*"); is {
		n, _ := strconv.Atoi(times)
		return bytes.Repeat([]byte(char), n)
	}
	return []byte(text)
}

func timeOf(text string) int64 {
	if rest, is := strings.CutPrefix(text, "t0"); is {
		n, _ := strconv.ParseInt("0"+strings.TrimPrefix(rest, "+"), 10, 64)
		return t0 + n
	}
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

func timeText(t time.Time) string {
	switch ms := t.UnixMilli(); {
	case ms == t0:
		return "t0"
	case ms > t0-1000000 && ms < t0+1000000000:
		return fmt.Sprintf("t0%+d", ms-t0)
	default:
		return strconv.FormatInt(ms, 10)
	}
}

func bytesText(b []byte) string {
	if b == nil {
		return "null"
	}
	return string(b)
}

func answer(err error, text any) string {
	if err != nil {
		return refusal(err)
	}
	return fmt.Sprint(text)
}

// refusal is the name of the error's status, with the records at fault.
func refusal(err error) string {
	var e *klog.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	text := e.Status.String()
	for i, refused := range e.Refused {
		text += fmt.Sprintf("%s%d", []string{" records=", ","}[min(i, 1)], refused.Index)
	}
	return text
}

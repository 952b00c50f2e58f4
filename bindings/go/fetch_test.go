package klog_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	klog "klog/bindings/go"
)

// fetchable is a log with a few batches, and their bytes.
func fetchable(t *testing.T, manager *klog.Manager, batches int) (*klog.Log, []byte) {
	log := logOf(t, manager, nil)
	for i := range batches {
		value := bytes.Repeat([]byte(fmt.Sprint(i, " ")), 2000)
		must[klog.AppendResult](t)(log.Append([]klog.Record{record("k", "first"), {Value: value, Timestamp: time.UnixMilli(t0)}}, nil))
	}
	buf := make([]byte, 10<<20)
	read := must[klog.ReadResult](t)(log.ReadRaw(ctx, 0, buf, nil))
	return log, buf[:read.Bytes]
}

func pinned(t *testing.T, manager *klog.Manager) uint64 {
	return must[klog.Info](t)(manager.Info()).PinnedBytes
}

func TestAFetchIsWhatAReadIs(t *testing.T) {
	manager := opened(t, nil)
	log, raw := fetchable(t, manager, 20)
	f := must[*klog.Fetch](t)(log.Fetch(ctx, 3, nil))
	skipped := len(raw) - f.Len()
	if !bytes.Equal(f.Bytes(), raw[skipped:]) || f.FirstOffset() != 2 || f.NextOffset() != 40 {
		t.Error(f.Len(), f.FirstOffset(), f.NextOffset())
	}
	if base, position, length := f.Region(); base != 0 || position != int64(skipped) || length != int64(f.Len()) {
		t.Error(f.Region())
	}
	if now := pinned(t, manager); now != uint64(f.Len()) {
		t.Error(now)
	}
	next := int64(2)
	for batch := range f.Batches() {
		if batch.BaseOffset() != next || batch.Records() != 2 {
			t.Error(batch.BaseOffset(), next)
		}
		next += 2
	}
	next = 2
	for r, err := range f.Records() {
		if err != nil || r.Offset != next || next%2 == 0 && string(r.Value) != "first" {
			t.Error(r, err)
		}
		next++
	}
	if next != 40 {
		t.Error(next)
	}
	small := must[*klog.Fetch](t)(log.Fetch(ctx, 0, &klog.ReadOptions{MaxBytes: 1}))
	if small.NextOffset() != 2 {
		t.Error(small.NextOffset())
	}
	if err := errors.Join(f.Close(), f.Close(), small.Close()); err != nil {
		t.Error(err)
	}
	if now := pinned(t, manager); now != 0 || f.Bytes() != nil {
		t.Error(now, f.Bytes())
	}
	for _, err := range f.Records() {
		if !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	}
	if _, err := f.WriteTo(io.Discard); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
	none := must[*klog.Fetch](t)(log.Fetch(ctx, 40, nil))
	if none.Len() != 0 || none.NextOffset() != 40 {
		t.Error(none.Len(), none.NextOffset())
	}
	none.Close()
	if _, err := log.Fetch(ctx, 41, nil); !errors.Is(err, klog.ErrOffsetOutOfRange) {
		t.Error(err)
	}
}

func TestAFetchFollowsTheLogEnd(t *testing.T) {
	log := created(t, nil)
	answer := make(chan *klog.Fetch, 1)
	go func() { answer <- must[*klog.Fetch](t)(log.Fetch(within(t), 0, &klog.ReadOptions{Follow: true})) }()
	reach(t, func() bool { return klog.Waiting(log) == 1 })
	must[int64](t)(log.AppendOne(nil, []byte("v"), time.Time{}))
	f := <-answer
	defer f.Close()
	if f.Len() == 0 || f.NextOffset() != 1 {
		t.Error(f.Len(), f.NextOffset())
	}
}

// Whatever becomes of the log and its manager, a fetch stays.
func TestAFetchOutlivesItsLogAndManager(t *testing.T) {
	manager := must[*klog.Manager](t)(klog.Open(ctx, []string{t.TempDir()}, &klog.Options{NoBackground: true}))
	log, raw := fetchable(t, manager, 5)
	f := must[*klog.Fetch](t)(log.Fetch(ctx, 0, nil))
	must[bool](t)(log.TruncateTo(2))
	must[klog.AppendResult](t)(log.Append([]klog.Record{{Value: bytes.Repeat([]byte("other"), 5000)}}, nil))
	if !bytes.Equal(f.Bytes(), raw) {
		t.Error("after a cut")
	}
	if err := errors.Join(log.Delete(), manager.Close()); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(f.Bytes(), raw) {
		t.Error("after the close")
	}
	var sent bytes.Buffer
	if n, err := f.WriteTo(&sent); n != int64(len(raw)) || err != nil || !bytes.Equal(sent.Bytes(), raw) {
		t.Error(n, err)
	}
	if _, err := log.Fetch(ctx, 0, nil); !errors.Is(err, klog.ErrClosed) {
		t.Error(err)
	}
	f.Close()
}

// pair is two ends of a connection.
func pair(t *testing.T, network, address string) (net.Conn, net.Conn) {
	listener := must[net.Listener](t)(net.Listen(network, address))
	defer listener.Close()
	from := must[net.Conn](t)(net.Dial(network, listener.Addr().String()))
	to := must[net.Conn](t)(listener.Accept())
	t.Cleanup(func() { from.Close(); to.Close() })
	return from, to
}

func TestAFetchWritesToAllKindsOfWriters(t *testing.T) {
	log, raw := fetchable(t, opened(t, nil), 200)
	f := must[*klog.Fetch](t)(log.Fetch(ctx, 0, nil))
	defer f.Close()
	if f.Len() < 1<<20 {
		t.Error("not more than a socket takes", f.Len())
	}
	for network, address := range map[string]string{"tcp": "127.0.0.1:0", "unix": filepath.Join(t.TempDir(), "socket")} {
		from, to := pair(t, network, address)
		received := make(chan []byte, 1)
		go func() {
			all, _ := io.ReadAll(to)
			received <- all
		}()
		begun := klog.Sent()
		if n, err := f.WriteTo(from); n != int64(len(raw)) || err != nil {
			t.Error(network, n, err)
		}
		from.Close()
		if !bytes.Equal(<-received, raw) {
			t.Error(network, "other bytes came")
		}
		if sent := klog.Sent() - begun; sent != uint64(len(raw)) {
			t.Errorf("%s: %d bytes by sendfile", network, sent)
		}
	}
	// A packet is one Write's.
	small := must[*klog.Fetch](t)(log.Fetch(ctx, 0, &klog.ReadOptions{MaxBytes: 5000}))
	defer small.Close()
	address := &net.UnixAddr{Name: filepath.Join(t.TempDir(), "packets"), Net: "unixgram"}
	packets := must[*net.UnixConn](t)(net.ListenUnixgram("unixgram", address))
	defer packets.Close()
	sender := must[*net.UnixConn](t)(net.DialUnix("unixgram", nil, address))
	defer sender.Close()
	if n, err := small.WriteTo(sender); int(n) != small.Len() || err != nil {
		t.Error(n, err)
	}
	packet := make([]byte, 1<<16)
	if n, err := packets.Read(packet); n != small.Len() || err != nil {
		t.Error(n, err)
	}
	path := filepath.Join(t.TempDir(), "file")
	for _, mode := range []int{os.O_TRUNC, os.O_APPEND} {
		file := must[*os.File](t)(os.OpenFile(path, os.O_CREATE|os.O_WRONLY|mode, 0o644))
		if n, err := f.WriteTo(file); n != int64(len(raw)) || err != nil {
			t.Error(n, err)
		}
		file.Close()
	}
	if got := must[[]byte](t)(os.ReadFile(path)); !bytes.Equal(got, append(raw, raw...)) {
		t.Error("a file has other bytes", len(got))
	}
	from, _ := pair(t, "tcp", "127.0.0.1:0")
	from.SetWriteDeadline(time.Unix(1, 0))
	if _, err := f.WriteTo(from); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
	from.Close()
	if _, err := f.WriteTo(from); err == nil {
		t.Error("written to what is closed")
	}
}

// A close beside a write lets the write finish.
func TestClosingAFetchBesideItsUse(t *testing.T) {
	manager := opened(t, nil)
	log, raw := fetchable(t, manager, 100)
	for range 20 {
		f := must[*klog.Fetch](t)(log.Fetch(ctx, 0, nil))
		var all sync.WaitGroup
		for range 4 {
			all.Add(2)
			go func() {
				defer all.Done()
				var sent bytes.Buffer
				if n, err := f.WriteTo(&sent); err == nil && (n != int64(len(raw)) || !bytes.Equal(sent.Bytes(), raw)) {
					t.Error(n)
				} else if err != nil && !errors.Is(err, klog.ErrClosed) {
					t.Error(err)
				}
			}()
			go func() {
				defer all.Done()
				f.Close()
			}()
		}
		all.Wait()
	}
	if now := pinned(t, manager); now != 0 {
		t.Error(now, "bytes are held")
	}
}

// A forgotten fetch is counted and, if nobody can have its memory, closed.
func TestForgottenFetchesAreCounted(t *testing.T) {
	manager := opened(t, nil)
	log, raw := fetchable(t, manager, 1)
	leaked := klog.Leaked()
	for range 5 {
		must[*klog.Fetch](t)(log.Fetch(ctx, 0, nil))
	}
	lent := must[*klog.Fetch](t)(log.Fetch(ctx, 0, nil)).Bytes()
	reach(t, func() bool {
		runtime.GC()
		return klog.Leaked()-leaked >= 6
	})
	if now := pinned(t, manager); now != uint64(len(raw)) {
		t.Error(now, "bytes are held")
	}
	if !bytes.Equal(lent, raw) {
		t.Error("memory was taken away")
	}
	if now := klog.Leaked() - leaked; now != 6 {
		t.Error(now, "were forgotten")
	}
	runtime.KeepAlive(log)
	keptForEver++
}

func TestRecordsAreEncodedAndDecoded(t *testing.T) {
	var batch klog.Batch
	for i := range 1000 {
		batch.Add(&klog.Record{
			Key: fmt.Append(nil, i), Value: bytes.Repeat([]byte("v"), i), Timestamp: time.UnixMilli(int64(i)),
			Headers: []klog.Header{{Key: "h", Value: nil}},
		})
	}
	var raw []byte
	epoch := int32(7)
	codecs := []klog.Compression{klog.CompressionConfig, klog.CompressionGzip, klog.CompressionSnappy, klog.CompressionLZ4, klog.CompressionZstd}
	for n, codec := range codecs {
		raw = must[[]byte](t)(batch.Encode(raw, int64(n*1000), &klog.AppendOptions{Compression: codec, LeaderEpoch: &epoch}))
	}
	whole := len(raw)
	next := 0
	for r, err := range klog.Decode(append(raw, raw[:20]...), nil) {
		i := next % 1000
		if err != nil || r.Offset != int64(next) || string(r.Key) != fmt.Sprint(i) || len(r.Value) != i || r.LeaderEpoch != 7 || len(r.Headers) != 1 {
			t.Fatal(next, r.Offset, err)
		}
		next++
	}
	if next != 5000 {
		t.Error(next)
	}
	log := created(t, nil)
	r := must[klog.AppendResult](t)(log.AppendRaw(raw, &klog.AppendOptions{Origin: klog.Replication}))
	if r.LastOffset != 4999 || int(r.Bytes) != whole {
		t.Errorf("%+v", r)
	}

	// The second batch is damaged, and told in its place.
	first, _ := klog.NextBatch(raw)
	raw[len(first)+100] ^= 1
	var told []string
	next = 0
	for r, err := range klog.Decode(raw, nil) {
		var e *klog.Error
		if errors.As(err, &e) {
			told = append(told, fmt.Sprint(e.Status, " at ", e.Position == int64(len(first)), " behind ", next))
			continue
		}
		next = int(r.Offset) + 1
	}
	if strings.Join(told, ";") != "klog: CORRUPT_MESSAGE at true behind 1000" || next != 5000 {
		t.Error(told, next)
	}
	if none, err := new(klog.Batch).Encode(nil, 0, nil); len(none) != 0 || err != nil {
		t.Error(none, err)
	}
	end := int64(0)
	if _, err := batch.Encode(nil, 0, &klog.AppendOptions{ExpectedLogEnd: &end}); !errors.Is(err, klog.ErrInvalidArgument) {
		t.Error(err)
	}
}

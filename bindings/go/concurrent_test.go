package klog_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	klog "klog/bindings/go"
)

// The scenarios of many threads (tests/scenarios/README.md): `together` and `close_race`.

// partOfRounds is what rounds are divided by: KLOG_PART_OF_ROUNDS, which is 1 in `make test-long`.
func partOfRounds(t testing.TB) int {
	if text := os.Getenv("KLOG_PART_OF_ROUNDS"); text != "" {
		return max(1, must[int](t)(strconv.Atoi(text)))
	}
	if testing.Short() {
		return 50
	}
	return 10
}

// partOfAppends is what appends are divided by; all are made where all rounds are.
func partOfAppends(t testing.TB) int {
	switch {
	case partOfRounds(t) == 1:
		return 1
	case testing.Short():
		return 20
	}
	return 4
}

func TestConcurrentScenariosHold(t *testing.T) {
	files, err := filepath.Glob("../../tests/scenarios/concurrent/*.scn")
	if err != nil || len(files) < 1 {
		t.Fatalf("%v: %v", files, err)
	}
	for _, file := range files {
		text := string(must[[]byte](t)(os.ReadFile(file)))
		s := &scenario{t: t, dir: t.TempDir(), now: t0}
		s.open()
		for number, line := range strings.Split(text, "\n") {
			line, _, _ = strings.Cut(line, "#")
			step, expected, _ := strings.Cut(line, ">")
			words := strings.Fields(step)
			if len(words) == 0 {
				continue
			}
			numbers := map[string]int{}
			for _, word := range words[1:] {
				name, value, _ := strings.Cut(word, "=")
				numbers[name], _ = strconv.Atoi(value)
				if value == "" {
					numbers[name] = 1
				}
			}
			answer := ""
			switch words[0] {
			case "together":
				answer = together(t, s.log, numbers)
			case "close_race":
				answer = closeRace(t, numbers)
			default:
				answer = s.step(words)
			}
			if answer != strings.TrimSpace(expected) {
				t.Errorf("%s, line %d: %s", file, number+1, answer)
			}
		}
		if err := s.manager.Close(); err != nil {
			t.Error(err)
		}
	}
}

// wrongs collects what is wrong, in words.
type wrongs struct {
	mu   sync.Mutex
	told []string
}

func (w *wrongs) add(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.told) < 10 {
		w.told = append(w.told, fmt.Sprintf(format, args...))
	}
}

func (w *wrongs) any() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.told != nil
}

func (w *wrongs) answer() string {
	if w.told == nil {
		return "ok"
	}
	return strings.Join(w.told, "; ")
}

// written is record n of writer w.
type written struct{ w, n int }

func (r written) key(keys int) string {
	if keys > 0 {
		return fmt.Sprint("k", r.n%keys)
	}
	return r.value()
}

func (r written) value() string { return fmt.Sprintf("%d.%d", r.w, r.n) }

func together(t *testing.T, log *klog.Log, numbers map[string]int) string {
	writers, appends := numbers["writers"], numbers["appends"]/partOfAppends(t)
	followers, roll, keys, cleans := numbers["followers"], int64(numbers["roll"]), numbers["keys"], numbers["clean"] > 0
	total := writers * appends
	var wrong wrongs
	// What the writers were told: who wrote the record at an offset.
	told := make([]atomic.Pointer[written], total)
	seen := make([][]string, followers)
	ctx := within(t)
	if testing.Verbose() {
		t.Logf("%d records", total)
	}

	var all, cleaning sync.WaitGroup
	for w := range writers {
		all.Add(1)
		go func() {
			defer all.Done()
			last := int64(-1)
			for n := range appends {
				r := written{w, n}
				offset, err := log.AppendOne([]byte(r.key(keys)), []byte(r.value()), time.Time{})
				if err != nil || offset <= last || offset >= int64(total) || !told[offset].CompareAndSwap(nil, &r) {
					wrong.add("writer %d was told %d behind %d: %v", w, offset, last, err)
					return
				}
				last = offset
				if offset%roll == roll-1 {
					if _, err := log.Roll(); err != nil {
						wrong.add("a roll: %v", err)
					}
				}
			}
		}()
	}
	for f := range followers {
		all.Add(1)
		go func() {
			defer all.Done()
			seen[f] = make([]string, total)
			for r, err := range log.Follow(ctx, 0) {
				if err != nil {
					wrong.add("follower %d: %v", f, err)
					return
				}
				if !take(&wrong, f, seen[f], &r, cleans) || r.Offset == int64(total-1) {
					return
				}
			}
		}()
	}
	done := make(chan struct{})
	if cleans {
		cleaning.Add(1)
		go func() {
			defer cleaning.Done()
			for last := false; !last; {
				select {
				case <-done:
					last = true
				default:
				}
				for _, dry := range []bool{true, false} {
					if _, err := log.Clean(ctx, &klog.CleanOptions{Roll: true, DryRun: dry}); err != nil {
						wrong.add("a pass: %v", err)
						return
					}
				}
			}
		}()
	}
	all.Wait()
	close(done)
	cleaning.Wait()

	final := make([]string, total)
	records := 0
	for r, err := range log.Records(ctx, 0) {
		if err != nil {
			wrong.add("at the end: %v", err)
			break
		}
		take(&wrong, -1, final, &r, cleans)
		records++
	}
	for f, all := range append(seen, final) {
		for offset, text := range all {
			if told[offset].Load() == nil {
				wrong.add("nobody was told offset %d", offset)
				break
			}
			if r := *told[offset].Load(); text != "" && text != r.key(keys)+"="+r.value() {
				wrong.add("follower %d saw %s at %d, which is of %v", f, text, offset, r)
			}
			if text == "" && !cleans {
				wrong.add("follower %d did not see %d", f, offset)
			}
		}
	}
	if cleans {
		lastOf := map[string]int64{}
		for offset := range told {
			if r := told[offset].Load(); r != nil {
				lastOf[r.key(keys)] = int64(offset)
			}
		}
		if records != len(lastOf) {
			wrong.add("%d records of %d keys are left", records, len(lastOf))
		}
		for key, offset := range lastOf {
			if final[offset] == "" {
				wrong.add("the last record of %s, at %d, is gone", key, offset)
			}
		}
	}
	return wrong.answer()
}

// take notes what a follower saw: every offset in order, or with gaps where the log is compacted.
func take(wrong *wrongs, follower int, seen []string, r *klog.Record, gaps bool) bool {
	if r.Offset < 0 || r.Offset >= int64(len(seen)) || seen[r.Offset] != "" {
		wrong.add("follower %d saw %d, twice or where nothing was", follower, r.Offset)
		return false
	}
	if !gaps && r.Offset > 0 && seen[r.Offset-1] == "" {
		wrong.add("follower %d saw %d, and not the one before", follower, r.Offset)
		return false
	}
	seen[r.Offset] = string(r.Key) + "=" + string(r.Value)
	return true
}

func closeRace(t *testing.T, numbers map[string]int) string {
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("KLOG_SEED"); text != "" {
		seed = must[uint64](t)(strconv.ParseUint(text, 10, 64))
	}
	t.Logf("KLOG_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	var wrong wrongs
	var acknowledged []acknowledgement
	end := int64(0)
	for round := range max(1, numbers["rounds"]/partOfRounds(t)) {
		race := openRace(t, dir, &wrong)
		race.find(end, acknowledged)
		end = must[int64](t)(race.log.EndOffset())
		acknowledged = race.run(numbers["threads"], random.Int64N(200), rand.New(rand.NewPCG(seed, uint64(round))))
		if wrong.any() {
			wrong.add("in round %d", round)
			break
		}
	}
	race := openRace(t, dir, &wrong)
	race.find(end, acknowledged)
	if err := race.manager.Close(); err != nil {
		wrong.add("%v", err)
	}
	return wrong.answer()
}

type acknowledgement struct {
	offset int64
	value  string
}

// race is a manager that is closed while others work with it.
type race struct {
	t              *testing.T
	wrong          *wrongs
	manager        *klog.Manager
	log, compacted *klog.Log
	appender       *klog.Appender
	events         *klog.Events
	appended       atomic.Int64
	mu             sync.Mutex
	acknowledged   []acknowledgement
}

func openRace(t *testing.T, dir string, wrong *wrongs) *race {
	manager := must[*klog.Manager](t)(klog.Open(ctx, []string{dir}, nil))
	if info := must[klog.Info](t)(manager.Info()); info.SegmentsRecovered != 0 {
		wrong.add("%d segments were recovered", info.SegmentsRecovered)
	}
	r := &race{t: t, wrong: wrong, manager: manager}
	r.log = must[*klog.Log](t)(manager.Log("race", 0, &klog.LogOptions{Create: true}))
	r.compacted = must[*klog.Log](t)(manager.Log("compacted", 0, &klog.LogOptions{
		Create: true, Config: klog.TopicConfig{Compact: true}.Config(),
	}))
	r.appender = must[*klog.Appender](t)(r.log.Appender(nil))
	r.events = must[*klog.Events](t)(manager.Events(klog.EventRolled, 0))
	return r
}

// find looks for what was acknowledged in the round before, which began at an offset.
func (r *race) find(from int64, all []acknowledgement) {
	there := map[int64]string{}
	for record, err := range r.log.Records(ctx, from) {
		if err != nil {
			r.wrong.add("after the close: %v", err)
			break
		}
		there[record.Offset] = string(record.Value)
	}
	for _, one := range all {
		if there[one.offset] != one.value {
			r.wrong.add("%s was acknowledged at %d, where %q is", one.value, one.offset, there[one.offset])
		}
	}
}

func (r *race) run(threads int, appends int64, random *rand.Rand) []acknowledgement {
	var all sync.WaitGroup
	calls := r.calls()
	for thread := range threads {
		own := rand.New(rand.NewPCG(random.Uint64(), uint64(thread)))
		all.Add(1)
		go func() {
			defer all.Done()
			for n := 0; ; n++ {
				call := own.IntN(len(calls))
				if thread < 2 {
					// Somebody must append, or nothing goes on.
					call = own.IntN(appendingCalls)
				}
				err := calls[call](fmt.Sprintf("%d.%d", thread, n))
				if errors.Is(err, os.ErrClosed) {
					return
				}
				if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, klog.ErrBusy) && !errors.Is(err, klog.ErrCleanAborted) &&
					!errors.Is(err, klog.ErrCleanPaused) {
					r.wrong.add("call %d: %v", call, err)
					return
				}
			}
		}()
	}
	reach(r.t, func() bool { return r.appended.Load() >= appends || r.wrong.any() })
	for range 2 {
		all.Add(1)
		go func() {
			defer all.Done()
			if err := r.manager.Close(); err != nil {
				r.wrong.add("closing: %v", err)
			}
		}()
	}
	all.Wait()
	r.events.Close()
	return r.acknowledged
}

// The first calls append.
const appendingCalls = 5

func (r *race) calls() []func(value string) error {
	acknowledge := func(offset int64, value string, err error) error {
		if err == nil {
			r.appended.Add(1)
			r.mu.Lock()
			r.acknowledged = append(r.acknowledged, acknowledgement{offset, value})
			r.mu.Unlock()
		}
		return err
	}
	one := func(value string) klog.Record { return klog.Record{Key: []byte("k"), Value: []byte(value)} }
	return []func(value string) error{
		func(value string) error {
			offset, err := r.log.AppendOne(nil, []byte(value), time.Time{})
			return acknowledge(offset, value, err)
		},
		func(value string) error {
			result, err := r.log.Append([]klog.Record{one(value)}, nil)
			return acknowledge(result.FirstOffset, value, err)
		},
		func(value string) error {
			ticket, err := r.appender.Add(ctx, one(value))
			if err != nil {
				return err
			}
			result, err := ticket.Wait(ctx)
			return acknowledge(result.FirstOffset, value, err)
		},
		func(value string) error {
			items := []klog.AppendItem{{Log: r.log, Records: []klog.Record{one(value)}}, {Log: r.compacted, Records: []klog.Record{one(value)}}}
			if err := r.manager.AppendMany(items, nil); items[0].Err != nil || err != nil && items[0].FirstOffset < 0 {
				return err
			}
			return acknowledge(items[0].FirstOffset, value, nil)
		},
		func(value string) error {
			var b klog.Batch
			b.AddKeyValue(nil, []byte(value), time.Time{})
			raw, err := b.Encode(nil, 0, nil)
			if err != nil {
				return err
			}
			result, err := r.log.AppendRaw(raw, nil)
			return acknowledge(result.FirstOffset, value, err)
		},
		// What waits without end.
		func(string) error { _, err := r.log.Wait(ctx, klog.WaitLogEnd, 1<<40); return err },
		func(string) error {
			for _, err := range r.compacted.Follow(ctx, 0) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		func(string) error { _, err := r.events.Poll(ctx); return err },
		func(string) error { return r.compacted.AwaitCleaned(ctx, 0) },
		func(string) error {
			for _, err := range r.log.Records(ctx, 0) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		func(string) error {
			for _, err := range r.log.Batches(ctx, 0, nil) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		func(string) error {
			f, err := r.log.Fetch(ctx, 0, nil)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.WriteTo(io.Discard)
			return err
		},
		func(string) error {
			cursor, err := r.log.Cursor(0, nil)
			if err != nil {
				return err
			}
			defer cursor.Close()
			_, err = cursor.Next(ctx)
			return errors.Join(err, cursor.SeekTo(0))
		},
		func(string) error { return r.appender.Flush(ctx) },
		func(string) error {
			_, err := r.compacted.Clean(r.t.Context(), &klog.CleanOptions{Roll: true})
			return err
		},
		func(string) error { _, err := r.manager.Clean(ctx, nil); return err },
		func(string) error { _, err := r.compacted.CleanProgress(); return err },
		func(string) error {
			if err := r.compacted.PauseCleaning(); err != nil {
				return err
			}
			return r.compacted.ResumeCleaning()
		},
		func(string) error { _, err := r.manager.Retain(nil); return err },
		func(string) error { _, err := r.manager.Tick(time.Time{}); return err },
		func(string) error { _, err := r.log.Roll(); return err },
		func(string) error { return r.log.Flush(-1) },
		func(string) error { return errors.Join(r.manager.Flush(), r.manager.Checkpoint()) },
		func(string) error { _, err := r.log.Info(); return err },
		func(string) error { _, err := r.log.EndOffset(); return err },
		func(string) error { _, err := r.log.OffsetForTime(klog.MaxTimestamp); return err },
		func(string) error { _, err := r.log.Producers(); return err },
		func(string) error { _, err := r.log.Metrics(); return err },
		func(string) error { _, err := r.manager.MetricsText(); return err },
		func(string) error { _, err := r.manager.Logs(); return err },
		func(string) error { _, err := r.manager.Report(); return err },
		func(string) error { _, err := r.manager.Dirs(); return err },
		func(string) error { return r.log.SetConfig(klog.Config{"max.message.bytes": "100000"}) },
		func(string) error { return r.manager.SetConfig(klog.Config{"log.cleaner.threads": "1"}) },
		func(string) error {
			log, err := r.manager.Log("other", 0, &klog.LogOptions{Create: true})
			if err != nil {
				return err
			}
			return log.Close()
		},
	}
}

package klog_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	klog "klog/bindings/go"
)

// closeRace closes managers while others make every call: the verb `close_race` of tests/scenarios/README.md.
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

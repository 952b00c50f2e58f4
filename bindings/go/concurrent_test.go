package klog_test

import (
	"fmt"
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

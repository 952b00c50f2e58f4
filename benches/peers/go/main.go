// A server that does the work of benches/peers with tidwall/wal: a line asks for a piece of work, the answer is how long it took.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/wal"
)

const each = 100

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fields := strings.Split(lines.Text(), "\t")
		took, err := work(fields[0], fields[1], fields[2], fields[3:])
		if err != nil {
			fmt.Printf("error %s\n", strings.ReplaceAll(err.Error(), "\n", " "))
		} else {
			fmt.Printf("ns %d\n", took.Nanoseconds())
		}
	}
}

func work(name, dir, file string, numbers []string) (time.Duration, error) {
	records, err := payloads(file)
	if err != nil {
		return 0, err
	}
	size, err := strconv.ParseUint(numbers[0], 10, 64)
	if err != nil {
		return 0, err
	}
	threads, err := strconv.Atoi(numbers[1])
	if err != nil {
		return 0, err
	}
	options := *wal.DefaultOptions
	options.NoSync = name != "synced"
	log, err := wal.Open(dir, &options)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	began := time.Now()
	switch name {
	case "append":
		err = appendBatches(log, records, size)
	case "single":
		err = single(log, records, size)
	case "synced":
		err = synced(log, records, size, threads)
	case "scan":
		for n := uint64(1); n <= size && err == nil; n++ {
			_, err = log.Read(n)
		}
	case "random":
		var last uint64
		if last, err = log.LastIndex(); err == nil {
			err = random(log, last, size)
		}
	default:
		err = fmt.Errorf("unknown work %s", name)
	}
	return time.Since(began), err
}

// The keys and values of the file, one behind the other.
func payloads(file string) ([][]byte, error) {
	all, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	records := make([][]byte, each)
	length := len(all) / each
	for n := range records {
		records[n] = all[n*length : (n+1)*length]
	}
	return records, nil
}

func appendBatches(log *wal.Log, records [][]byte, size uint64) error {
	var batch wal.Batch
	for n := uint64(0); n < size; n++ {
		batch.Write(n+1, records[n%each])
		if (n+1)%each == 0 {
			if err := log.WriteBatch(&batch); err != nil {
				return err
			}
		}
	}
	return nil
}

func single(log *wal.Log, records [][]byte, size uint64) error {
	for n := uint64(0); n < size; n++ {
		if err := log.Write(n+1, records[n%each]); err != nil {
			return err
		}
	}
	return nil
}

// The indexes have to come one after the other, so a lock is held over each write.
func synced(log *wal.Log, records [][]byte, size uint64, threads int) error {
	var lock sync.Mutex
	var next uint64
	var failed error
	var all sync.WaitGroup
	for range threads {
		all.Add(1)
		go func() {
			defer all.Done()
			for n := uint64(0); n < size/uint64(threads); n++ {
				lock.Lock()
				next++
				if err := log.Write(next, records[n%each]); err != nil {
					failed = err
				}
				lock.Unlock()
			}
		}()
	}
	all.Wait()
	return failed
}

func random(log *wal.Log, last, size uint64) error {
	state := uint64(1)
	for n := uint64(0); n < size; n++ {
		state = state*6364136223846793005 + 1442695040888963407
		if _, err := log.Read((state>>33)%last + 1); err != nil {
			return err
		}
	}
	return nil
}

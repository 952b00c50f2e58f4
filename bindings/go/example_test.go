package klog_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"time"

	klog "klog/bindings/go"
)

// A directory and a log to show things with.
func ordersOf(ctx context.Context) (orders *klog.Log, end func()) {
	dir, err := os.MkdirTemp("", "klog")
	if err != nil {
		log.Fatal(err)
	}
	manager, err := klog.Open(ctx, []string{dir}, &klog.Options{Clock: time.UnixMilli(1700000000000)})
	if err != nil {
		log.Fatal(err)
	}
	orders, err = manager.Log("orders", 0, &klog.LogOptions{Create: true})
	if err != nil {
		log.Fatal(err)
	}
	return orders, func() {
		if err := errors.Join(manager.Close(), os.RemoveAll(dir)); err != nil {
			log.Fatal(err)
		}
	}
}

func ExampleLog_Records() {
	ctx := context.Background()
	orders, end := ordersOf(ctx)
	defer end()
	result, err := orders.Append([]klog.Record{
		{Key: []byte("order-7"), Value: []byte("placed")},
		{Key: []byte("order-7"), Value: []byte("paid"), Headers: []klog.Header{{Key: "by", Value: []byte("card")}}},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	for record, err := range orders.Records(ctx, result.FirstOffset) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d %s=%s %d headers\n", record.Offset, record.Key, record.Value, len(record.Headers))
	}
	// Output:
	// 0 order-7=placed 0 headers
	// 1 order-7=paid 1 headers
}

// Follow goes on when there is more, until its context is done.
func ExampleLog_Follow() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	orders, end := ordersOf(ctx)
	defer end()
	go func() {
		for i := range 3 {
			orders.AppendOne(nil, fmt.Append(nil, "event ", i), time.Time{})
		}
	}()
	for record, err := range orders.Follow(ctx, 0) {
		if errors.Is(err, context.Canceled) {
			fmt.Println("done")
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d %s\n", record.Offset, record.Value)
		if record.Offset == 2 {
			cancel()
		}
	}
	// Output:
	// 0 event 0
	// 1 event 1
	// 2 event 2
	// done
}

// Many goroutines append through one appender, which makes few batches of what they add.
func ExampleAppender() {
	ctx := context.Background()
	orders, end := ordersOf(ctx)
	defer end()
	appender, err := orders.Appender(&klog.AppenderOptions{Append: &klog.AppendOptions{Durability: klog.Fsync}})
	if err != nil {
		log.Fatal(err)
	}
	defer appender.Close()
	ticket, err := appender.Add(ctx, klog.Record{Key: []byte("order-7"), Value: []byte("paid")})
	if err != nil {
		log.Fatal(err)
	}
	result, err := ticket.Wait(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("durable at", result.FirstOffset)
	// Output: durable at 0
}

func ExampleError() {
	ctx := context.Background()
	orders, end := ordersOf(ctx)
	defer end()
	_, err := orders.Fetch(ctx, 5, nil)
	fmt.Println(errors.Is(err, klog.ErrOffsetOutOfRange))
	var failed *klog.Error
	if errors.As(err, &failed) {
		fmt.Println(failed.Kafka, failed.Topic, failed.Offset)
	}
	// Output:
	// true
	// OFFSET_OUT_OF_RANGE orders 5
}

// An HTTP handler that answers with stored batches, and waits a second for some: what a broker's fetch does. To a plain
// connection they go from the file without passing through the program.
func ExampleLog_Fetch() {
	ctx := context.Background()
	orders, end := ordersOf(ctx)
	defer end()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, _ := strconv.ParseInt(r.FormValue("from"), 10, 64)
		fetched, err := orders.Fetch(r.Context(), from, &klog.ReadOptions{Follow: true, MaxWait: time.Second, MaxBytes: 1 << 20})
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		defer fetched.Close()
		fetched.WriteTo(w)
	}))
	defer server.Close()
	if _, err := orders.AppendOne([]byte("order-7"), []byte("paid"), time.Time{}); err != nil {
		log.Fatal(err)
	}
	response, err := http.Get(server.URL + "?from=0")
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	for record, err := range klog.Decode(raw, nil) {
		fmt.Printf("%s=%s %v\n", record.Key, record.Value, err)
	}
	// Output: order-7=paid <nil>
}

func ExampleLog_Clean() {
	ctx := context.Background()
	orders, end := ordersOf(ctx)
	defer end()
	if err := orders.SetConfig(klog.TopicConfig{Compact: true}.Config()); err != nil {
		log.Fatal(err)
	}
	for _, state := range []string{"placed", "paid", "sent"} {
		if _, err := orders.AppendOne([]byte("order-7"), []byte(state), time.Time{}); err != nil {
			log.Fatal(err)
		}
	}
	cleaned, err := orders.Clean(ctx, &klog.CleanOptions{Roll: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(cleaned.RecordsRead, "read,", cleaned.RecordsKept, "kept")
	// Output: 3 read, 1 kept
}

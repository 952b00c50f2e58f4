package klog

// #include "shim.h"
import "C"

import (
	"runtime"
	"sync"
)

// MetricType is how a metric moves.
type MetricType uint32

const (
	// Gauge rises and falls.
	Gauge MetricType = C.KLOG_METRIC_GAUGE
	// Counter only rises: Kafka's meter.
	Counter MetricType = C.KLOG_METRIC_COUNTER
	// TimerCount is how often, of Kafka's timer.
	TimerCount MetricType = C.KLOG_METRIC_TIMER_COUNT
	// TimerSum is how long all of them took together, of Kafka's timer.
	TimerSum MetricType = C.KLOG_METRIC_TIMER_SUM
)

// Metric is a metric under Kafka's name, and its value.
type Metric struct {
	Name, Unit, Help string
	Type             MetricType
	Value            uint64
}

// described are all metrics, without values. The library's table does not change.
var described = sync.OnceValue(func() []Metric {
	var all []Metric
	for {
		c := C.klog_metric{struct_size: C.sizeof_klog_metric}
		err := cError()
		if C.klog_metric_describe(C.uint32_t(len(all)), &c, &err) != C.KLOG_OK {
			return all
		}
		all = append(all, Metric{C.GoString(c.name), C.GoString(c.unit), C.GoString(c.help), MetricType(c._type), 0})
	}
})

// Metrics are those of the whole manager.
func (m *Manager) Metrics() ([]Metric, error) {
	return metrics(m, C.klog_log{})
}

// Metrics are those of this log, of its topic, of its directory, or of the manager, whichever is the narrowest that there
// is.
func (l *Log) Metrics() ([]Metric, error) {
	defer runtime.KeepAlive(l)
	all, err := metrics(l.manager, l.c)
	return all, l.named(err)
}

func metrics(m *Manager, only C.klog_log) ([]Metric, error) {
	all := append([]Metric(nil), described()...)
	values := make([]C.uint64_t, len(all))
	var count C.size_t
	err := cError()
	status := C.klog_metrics_read(m.c, only, &values[0], C.size_t(len(values)), &count, &err)
	if status != C.KLOG_OK {
		return nil, newError(status, &err)
	}
	for i := range all {
		all[i].Value = uint64(values[i])
	}
	return all, nil
}

// MetricsText are all metrics for a scraper, as OpenMetrics text.
func (m *Manager) MetricsText() (string, error) {
	return text(func(buf *C.char, size C.size_t, needed *C.size_t, err *C.klog_error) C.klog_status {
		return C.klog_metrics_text(m.c, C.KLOG_METRICS_OPENMETRICS, buf, size, needed, err)
	})
}

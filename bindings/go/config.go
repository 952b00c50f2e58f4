package klog

// #include "shim.h"
import "C"

import (
	"maps"
	"strconv"
	"strings"
	"time"
)

// Config is configuration under Kafka's names: broker keys in Options ("log.dirs" and the like), topic keys in LogOptions
// ("retention.ms"). Values are written as Kafka writes them. A wrong value is ErrInvalidConfig, and an unknown key
// ErrUnknownConfig, which names the nearest known one.
type Config map[string]string

// TopicConfig is the topic configuration that is used most, with types. Zero is Kafka's default.
type TopicConfig struct {
	// Compact keeps the last record of each key (cleanup.policy=compact); with a Retention or RetentionBytes beside it old
	// segments are deleted as well.
	Compact bool
	// Retention is how long records are kept; below 0 without limit (retention.ms).
	Retention time.Duration
	// RetentionBytes is how much is kept; below 0 without limit (retention.bytes).
	RetentionBytes int64
	// SegmentBytes and SegmentAge are when a new segment begins (segment.bytes, segment.ms).
	SegmentBytes int64
	SegmentAge   time.Duration
	// MaxMessageBytes is how large a batch may be (max.message.bytes).
	MaxMessageBytes int64
	// DeleteRetention is how long compaction keeps tombstones (delete.retention.ms).
	DeleteRetention time.Duration
	// Compression is what batches are stored with (compression.type).
	Compression Compression
	// LogAppendTime makes the time of the append that of the records (message.timestamp.type).
	LogAppendTime bool
	// Other keys, which win over the fields above.
	Other Config
}

// Config gives the same under Kafka's names.
func (t TopicConfig) Config() Config {
	config := Config{}
	number := func(key string, value int64) {
		if value != 0 {
			config[key] = strconv.FormatInt(max(value, -1), 10)
		}
	}
	age := func(key string, value time.Duration) {
		if value < 0 {
			value = -time.Millisecond
		}
		number(key, value.Milliseconds())
	}
	if t.Compact {
		config["cleanup.policy"] = "compact"
		if t.Retention != 0 || t.RetentionBytes != 0 {
			config["cleanup.policy"] = "compact,delete"
		}
	}
	age("retention.ms", t.Retention)
	number("retention.bytes", t.RetentionBytes)
	number("segment.bytes", t.SegmentBytes)
	age("segment.ms", t.SegmentAge)
	number("max.message.bytes", t.MaxMessageBytes)
	age("delete.retention.ms", t.DeleteRetention)
	if t.Compression != CompressionConfig {
		config["compression.type"] = strings.Replace(t.Compression.String(), "none", "uncompressed", 1)
	}
	if t.LogAppendTime {
		config["message.timestamp.type"] = "LogAppendTime"
	}
	maps.Copy(config, t.Other)
	return config
}

// BrokerValue is the value that a broker's key has with this configuration: what it says, or the default.
func (c Config) BrokerValue(key string) (string, error) { return c.value(C.KLOG_CONFIG_BROKER, key) }

// TopicValue is the value that a topic's key has with these overrides: what they say, or the default.
func (c Config) TopicValue(key string) (string, error) { return c.value(C.KLOG_CONFIG_TOPIC, key) }

func (c Config) value(kind C.uint32_t, key string) (string, error) {
	config, failed := cConfig(kind, c)
	if failed != nil {
		return "", failed
	}
	defer C.klog_config_close(config)
	at, size := chars(key)
	if at == nil {
		at = (*C.char)(first([]byte{}))
	}
	return text(func(buf *C.char, room C.size_t, needed *C.size_t, err *C.klog_error) C.klog_status {
		return C.klog_config_get(config, at, size, buf, room, needed, err)
	})
}

// ConfigKey is what is known of a key.
type ConfigKey struct {
	Name, Type, Default, Range, Text string
}

// ConfigKeys are all keys that the library knows.
func ConfigKeys() ([]ConfigKey, error) {
	var keys []ConfigKey
	for {
		told, err := text(func(buf *C.char, size C.size_t, needed *C.size_t, err *C.klog_error) C.klog_status {
			return C.klog_config_describe(C.uint32_t(len(keys)), buf, size, needed, err)
		})
		if e, is := err.(*Error); is && e.Status == statusEnd {
			return keys, nil
		}
		if err != nil {
			return nil, err
		}
		of := append(strings.SplitN(told, "\n", 5), "", "", "", "", "")
		keys = append(keys, ConfigKey{of[0], of[1], of[2], of[3], strings.TrimSpace(of[4])})
	}
}

const statusEnd Status = C.KLOG_ERR_END

// cConfig is a configuration in the library, to be closed.
func cConfig(kind C.uint32_t, config Config) (C.klog_config, error) {
	var c C.klog_config
	err := cError()
	if status := C.klog_config_create(kind, &c, &err); status != C.KLOG_OK {
		return c, newError(status, &err)
	}
	for key, value := range config {
		keyAt, keyLen := chars(key)
		valueAt, valueLen := chars(value)
		if value == "" {
			valueAt = (*C.char)(first([]byte{}))
		}
		if status := C.klog_config_set(c, keyAt, keyLen, valueAt, valueLen, &err); status != C.KLOG_OK {
			C.klog_config_close(c)
			return C.klog_config{}, newError(status, &err)
		}
	}
	return c, nil
}

// brokerConfig is what Options say, in the library.
func brokerConfig(opts *Options) (C.klog_config, error) {
	c, failed := cConfig(C.KLOG_CONFIG_BROKER, opts.Config)
	if failed != nil {
		return c, failed
	}
	err := cError()
	must := func(status C.klog_status) bool {
		if status != C.KLOG_OK {
			failed = newError(status, &err)
			C.klog_config_close(c)
		}
		return status == C.KLOG_OK
	}
	if opts.Properties != "" {
		at, size := chars(opts.Properties)
		if !must(C.klog_config_load(c, at, size, &err)) {
			return C.klog_config{}, failed
		}
	}
	for topic, overrides := range opts.Topics {
		topicAt, topicLen := chars(topic)
		if !must(C.klog_config_set_topic(c, topicAt, topicLen, nil, 0, nil, 0, &err)) {
			return C.klog_config{}, failed
		}
		for key, value := range overrides {
			keyAt, keyLen := chars(key)
			valueAt, valueLen := chars(value)
			if value == "" {
				valueAt = (*C.char)(first([]byte{}))
			}
			if !must(C.klog_config_set_topic(c, topicAt, topicLen, keyAt, keyLen, valueAt, valueLen, &err)) {
				return C.klog_config{}, failed
			}
		}
	}
	return c, nil
}

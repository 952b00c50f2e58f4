package klog

// #include "shim.h"
import "C"

// Feature is a set of what is built into the library.
type Feature uint64

// The features.
const (
	FeatureGzip   Feature = C.KLOG_FEATURE_GZIP
	FeatureSnappy Feature = C.KLOG_FEATURE_SNAPPY
	FeatureLZ4    Feature = C.KLOG_FEATURE_LZ4
	FeatureZstd   Feature = C.KLOG_FEATURE_ZSTD
	// FeatureMmap: indexes are mapped into memory.
	FeatureMmap Feature = C.KLOG_FEATURE_MMAP
)

// Features are what is built into the library that is linked in or loaded.
func Features() Feature { return Feature(C.klog_features()) }

// LibraryVersion is the version of the library that is linked in or loaded.
func LibraryVersion() string { return C.GoString(C.klog_version_string()) }

// LibraryVersionNumber is the same as a number: MAJOR << 16 | MINOR << 8 | PATCH.
func LibraryVersionNumber() uint32 { return uint32(C.klog_version_number()) }

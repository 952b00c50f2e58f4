/*
 * What cgo cannot say: options that hold a pointer to Go memory are put together here, on the C stack, so that nothing must
 * be pinned; and an empty call, to measure what a call costs.
 */
#ifndef KLOG_GO_SHIM_H
#define KLOG_GO_SHIM_H

#include "klog.h"

static inline klog_status klog_go_append_packed(klog_log log, const void *packed, size_t len,
                                                const klog_append_options *opts, klog_record_error *refused,
                                                uint64_t refused_cap, klog_append_result *out, klog_error *err) {
    klog_append_options with = *opts;
    with.record_errors = refused;
    with.record_errors_cap = refused_cap;
    return klog_append_packed(log, packed, len, &with, out, err);
}

static inline klog_status klog_go_append_batches(klog_log log, const void *batches, size_t len,
                                                 const klog_append_options *opts, klog_record_error *refused,
                                                 uint64_t refused_cap, klog_append_result *out, klog_error *err) {
    klog_append_options with = *opts;
    with.record_errors = refused;
    with.record_errors_cap = refused_cap;
    return klog_append_batches(log, batches, len, &with, out, err);
}

static inline void klog_go_nothing(void) {}

#endif

/*
 * What cgo cannot say: options that hold a pointer to Go memory are put together here, on the C stack, so that nothing must
 * be pinned.
 */
#ifndef KLOG_GO_SHIM_H
#define KLOG_GO_SHIM_H

#include <fcntl.h>

#include "klog.h"

/* A descriptor of the library's for Go's runtime to wait on: not to block in a read that nobody does. */
static inline int klog_go_dup(int fd) {
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own >= 0) {
        fcntl(own, F_SETFL, fcntl(own, F_GETFL) | O_NONBLOCK);
    }
    return own;
}

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

static inline klog_status klog_go_appender_open(klog_log log, const klog_appender_options *opts,
                                                const klog_append_options *append, klog_appender *out, klog_error *err) {
    klog_appender_options with = *opts;
    with.append = append;
    return klog_appender_open(log, &with, out, err);
}

#endif

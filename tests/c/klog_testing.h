/*
 * What tests tell a library that was built with the feature test-hooks (src/ffi/testing.rs). No release has these functions, and
 * they may change at any time. All of it is of the process. The clock is set by KLOG_OPEN_MANUAL_CLOCK and klog_tick, as in any build.
 */
#ifndef KLOG_TESTING_H
#define KLOG_TESTING_H

#include "klog.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Of the operations of this name on paths that contain part, after the first skip, the next times fail with os_errno. Names are
 * open, read, write, set_len, sync, map, create_dir, list, rename, remove, sync_dir, set_modified, lock.
 */
klog_status klog_testing_fail(const char *operation, const char *part, uint64_t skip, uint64_t times, int32_t os_errno);
/* Such operations wait until klog_testing_clear. */
klog_status klog_testing_hold(const char *operation, const char *part);
/* Waits until so many are held. */
void klog_testing_await_held(uint32_t count);
/* Ends all that was told. */
void klog_testing_clear(void);
/* The next call of this function panics inside. */
klog_status klog_testing_panic(const char *function);
/* Guard, handle, answer, and nothing else. */
klog_status klog_testing_empty_call(klog_log log);

#ifdef __cplusplus
}
#endif
#endif

//! What to do about a part of the tests that cannot run here. By default that is a failure; `KLOG_SKIP=name,name` skips
//! parts by name, and `make test` says so at its end.

/// Whether the part `name` is to be skipped.
pub(crate) fn is_skipped(name: &str) -> bool {
    let skipped = std::env::var("KLOG_SKIP").unwrap_or_default();
    let is_skipped = skipped.split(',').any(|part| part.trim() == name);
    if is_skipped {
        eprintln!("skipped by KLOG_SKIP: {name}");
    }
    is_skipped
}

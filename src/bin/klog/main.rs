//! The klog command.
fn main() {}

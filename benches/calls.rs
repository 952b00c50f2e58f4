//! What calls of the C ABI cost, as multiples of an empty one. `make bench` runs it; docs/c-abi.md has the figures.
#![allow(clippy::unwrap_used, clippy::cast_precision_loss, clippy::print_stdout)]

#[path = "support/calls.rs"]
mod calls;

/// An empty call from Go (`go test -bench EmptyCall`) costs as much as so many empty calls here: no record may cost more.
const EMPTY_CALL_FROM_GO: f64 = 2.2;

/// What costs at most so many empty calls: its name, what of it is the system's, the bound.
const BOUNDS: [(&str, &str, f64); 3] = [
    ("klog_log_end_offset", "", 3.0),
    ("a record in klog_encode of 100", "", EMPTY_CALL_FROM_GO),
    (
        "a record in klog_cursor_next of 100",
        "the bytes of a record by pread of 2000",
        EMPTY_CALL_FROM_GO,
    ),
];

fn main() {
    let costs = calls::measure(60, 100_000);
    let of = |wanted: &str| {
        let found = costs.iter().find(|(name, _)| *name == wanted);
        found.map_or(0.0, |(_, ns)| *ns)
    };
    let empty = costs[0].1;
    println!("{:<60} {:>8} {:>12}", "", "ns", "empty calls");
    for (name, ns) in &costs {
        println!("{name:<60} {ns:>8.1} {:>12.2}", ns / empty);
    }
    for (name, system, bound) in BOUNDS {
        let own = (of(name) - of(system)) / empty;
        let verdict = if own <= bound { "ok" } else { "MISSED" };
        println!("{name}: klog's own part {own:.2} empty calls, at most {bound}: {verdict}");
    }
}

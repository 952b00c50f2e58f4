//! The cheapest call costs little more than an empty one. `make bench` measures the others with an optimised library.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::cast_precision_loss
)]

#[path = "../benches/support/calls.rs"]
mod calls;

#[test]
fn the_log_end_costs_at_most_three_empty_calls() {
    let costs = calls::measure(20, 20_000);
    let of = |name: &str| costs.iter().find(|(n, _)| *n == name).unwrap().1;
    let (empty, end) = (of("an empty call"), of("klog_log_end_offset"));
    println!("{costs:?}");
    assert!(end <= 3.0 * empty, "{end} ns, an empty call {empty} ns");
}

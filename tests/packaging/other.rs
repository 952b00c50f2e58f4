//! A second library in Rust, with its own copy of the runtime, for a program that holds klog too.
#![allow(missing_docs)]

use std::panic::catch_unwind;

#[unsafe(no_mangle)]
pub extern "C" fn other_catches(number: i32) -> i32 {
    std::panic::set_hook(Box::new(|_| {}));
    let text = format!("{number}");
    catch_unwind(|| if number < 0 { panic!("{text}") } else { number + 1 }).unwrap_or(-1)
}

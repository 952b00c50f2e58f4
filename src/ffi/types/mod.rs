//! The structs of klog.h. Layouts are fixed (c-abi.md 1.5, 3.1): fields are added only in place of `reserved` or at the
//! end, and never to structs that travel in arrays.

mod append;
mod basics;
mod manager;
mod read;
mod upkeep;

pub use append::*;
pub use basics::*;
pub use manager::*;
pub use read::*;
pub use upkeep::*;

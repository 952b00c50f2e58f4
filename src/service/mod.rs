//! What programs want on top of a manager: work in the background, events, metrics, waiting for records in one log or in
//! thousands, appending from many threads at once into few batches, and calls that can be ended.
//!
//! Whatever sleeps does so in one loop (`patience`), on a bell that what it waits for rings.

mod appender;
mod background;
mod cancel;
mod events;
pub mod metrics;
mod patience;
mod sleepers;
mod wait;
mod waiter;

pub use appender::{Appender, AppenderOptions, AppenderThread, Leftover, Ticket};
pub use background::Background;
pub use cancel::CancelToken;
pub use events::{Descriptor, EventOptions, EventStream, Take};
pub use patience::{Ending, Patience};
pub use wait::{kind_of, next_records_waiting, read_waiting, view_waiting, wait};
pub use waiter::{Ready, Tag, Waiter};

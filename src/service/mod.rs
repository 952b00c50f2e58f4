//! What programs want on top of a manager: work in the background, events, metrics. Waiting for records, and appending from
//! many threads at once into few batches, come here too.

mod background;
mod events;
pub mod metrics;

pub use background::Background;
pub use events::{Descriptor, EventOptions, EventStream, Take};

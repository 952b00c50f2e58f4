//! What programs want on top of a manager: work in the background, events, metrics, calls that can be ended. Waiting for
//! records, and appending from many threads at once into few batches, come here too.

mod background;
mod cancel;
mod events;
pub mod metrics;

pub use background::Background;
pub use cancel::CancelToken;
pub use events::{Descriptor, EventOptions, EventStream, Take};

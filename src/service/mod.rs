//! What programs want on top of a manager: work in the background. Waiting for records, and appending from many threads at
//! once into few batches, come here too.

mod background;

pub use background::Background;

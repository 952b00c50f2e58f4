//! Batches and records that are too large to be held.

use super::Dump;
use super::batches::BatchAt;
use super::file_name::FileName;
use super::log::V2Header;
use super::source::Source;
use super::stop::{Result, Thrown};

pub(crate) fn print(
    _dump: &mut Dump<'_>,
    at: &BatchAt,
    _header: &V2Header,
    _source: &mut Source,
    _name: &FileName,
    _last_offset: &mut i64,
) -> Result<()> {
    Err(Thrown::new(
        "java.lang.OutOfMemoryError",
        format!("a batch of {} bytes", at.size),
    )
    .into())
}

pub(crate) fn max_timestamp(at: &BatchAt, _header: &V2Header, _source: &mut Source) -> Result<i64> {
    Err(Thrown::new(
        "java.lang.OutOfMemoryError",
        format!("a batch of {} bytes", at.size),
    )
    .into())
}

//! Records as lines: the formats that `klog cat` prints and `klog append` reads.
//!
//! Each is lossless: null differs from empty, bytes that are no UTF-8 come back as they were.

mod escape;
mod json;
mod template;
mod text;

use std::io::Write;

use klog::error::{Error, Result};
use klog::format::batch::BatchHeader;
use klog::format::codec::Codec;
use klog::format::record::{Header, Record};
use klog::types::LeaderEpoch;

pub(crate) use template::Template;

/// How records are written and read.
#[derive(Clone, Debug)]
pub(crate) enum Format {
    /// `offset TAB timestamp TAB key TAB value [TAB headers]`, escaped.
    Text,
    /// A JSON object a line.
    Json,
    /// As a pattern says.
    Template(Template),
    /// The batches as they are stored.
    Raw,
}

/// A record of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Incoming {
    pub(crate) offset: Option<i64>,
    pub(crate) timestamp: Option<i64>,
    /// Whether the timestamp is that of the append to the log it came from.
    pub(crate) is_append_time: bool,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) value: Option<Vec<u8>>,
    pub(crate) headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    pub(crate) codec: Option<Codec>,
    pub(crate) leader_epoch: LeaderEpoch,
}

impl Incoming {
    fn new() -> Self {
        Self {
            offset: None,
            timestamp: None,
            is_append_time: false,
            key: None,
            value: None,
            headers: Vec::new(),
            codec: None,
            leader_epoch: LeaderEpoch::NONE,
        }
    }

    /// Its headers as an append takes them.
    pub(crate) fn headers(&self) -> impl ExactSizeIterator<Item = Header<'_>> + Clone {
        self.headers.iter().map(|(key, value)| Header {
            key,
            value: value.as_deref(),
        })
    }

    /// About how many bytes it takes in a batch.
    pub(crate) fn bytes(&self) -> usize {
        let len = |bytes: &Option<Vec<u8>>| bytes.as_ref().map_or(0, Vec::len);
        let headers = self.headers.iter();
        let headers: usize = headers.map(|(key, value)| key.len() + len(value) + 4).sum();
        len(&self.key) + len(&self.value) + headers + 16
    }
}

impl Format {
    /// Writes a record as a line.
    pub(crate) fn write(
        &self,
        out: &mut dyn Write,
        record: &Record<'_>,
        batch: &BatchHeader,
    ) -> std::io::Result<()> {
        match self {
            Self::Text => text::write(out, record),
            Self::Json => json::write(out, record, batch),
            Self::Template(template) => template.write(out, record),
            Self::Raw => Ok(()),
        }
    }

    /// Reads a record of a line, which is without its end.
    pub(crate) fn read(&self, line: &[u8]) -> Result<Incoming> {
        match self {
            Self::Text => text::read(line),
            Self::Json => json::read(line),
            Self::Template(template) => template.read(line),
            Self::Raw => Err(Error::invalid_argument("raw batches are no lines")),
        }
    }
}

fn number(what: &str, text: &[u8]) -> Result<i64> {
    std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| {
            Error::invalid_argument(format!(
                "the {what} {:?} is no number",
                String::from_utf8_lossy(text)
            ))
        })
}

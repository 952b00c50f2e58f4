//! Zstandard. Implements records.md 5.5 and the zstd levels of 5.6.
//!
//! The library does all of it, and with the settings below as Kafka's does. Frames without a content size, which is
//! what Kafka writes, can only be decoded as streams: through a window, as large as the frame asks for.

use ::zstd::zstd_safe::zstd_sys::{ZSTD_EndDirective, ZSTD_ErrorCode};
use ::zstd::zstd_safe::{
    CCtx, CParameter, DCtx, DParameter, ErrorCode, InBuffer, OutBuffer, ResetDirective,
    compress_bound, get_error_name, is_error_kind,
};

use super::buffer::{Pace, grow, no_memory, reserve, take};
use super::{Codec, corrupt, too_large};
use crate::{Error, ErrorKind, Result};

const DEFAULT_LEVEL: i32 = 3;
/// Kafka's range of levels.
const LEVELS: (i32, i32) = (-131_072, 22);

/// Frames that ask for a larger window are refused: 2^27, the limit of Kafka's reader.
const WINDOW_LOG_MAX: u32 = 27;

/// What a context may hold from stream to stream. Windows up to 8 MiB, which levels up to 19 use, are kept.
const KEPT_BYTES: usize = 16 * 1024 * 1024;

/// Compresses batches.
#[derive(Default)]
pub(super) struct Encoder {
    context: Option<CCtx<'static>>,
}

impl Encoder {
    pub(super) fn encode(
        &mut self,
        level: Option<i32>,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let level = level.unwrap_or(DEFAULT_LEVEL).clamp(LEVELS.0, LEVELS.1);
        let context = match self.context.take() {
            Some(context) => context,
            None => new_encoder()?,
        };
        let context = self.context.insert(context);
        context.reset(ResetDirective::SessionOnly).map_err(failed)?;
        context
            .set_parameter(CParameter::CompressionLevel(level))
            .map_err(failed)?;

        // With room for the worst the library compresses in one pass and without a copy.
        reserve(out, compress_bound(input.len()))?;
        let mut source = InBuffer::around(input);
        loop {
            let start = out.len();
            let mut target = OutBuffer::around_pos(out, start);
            let missing = context
                .compress_stream2(&mut target, &mut source, ZSTD_EndDirective::ZSTD_e_end)
                .map_err(failed)?;
            if missing == 0 {
                return Ok(());
            }
            reserve(out, missing)?;
        }
    }
}

fn new_encoder() -> Result<CCtx<'static>> {
    let mut context = CCtx::try_create().ok_or_else(|| no_memory(CCtx::in_size()))?;
    // As Kafka's writer, which streams and so does not know the size.
    context
        .set_parameter(CParameter::ContentSizeFlag(false))
        .map_err(failed)?;
    context
        .set_parameter(CParameter::ChecksumFlag(false))
        .map_err(failed)?;
    Ok(context)
}

/// Where no compressed input is involved, nothing but memory can fail.
fn failed(code: ErrorCode) -> Error {
    if is_error_kind(code, ZSTD_ErrorCode::ZSTD_error_memory_allocation) {
        return no_memory(CCtx::in_size());
    }
    Error::new(
        ErrorKind::Bug,
        format!("zstd failed: {}", get_error_name(code)),
    )
}

/// The library's context for decompression, some 100 KB and its window.
#[derive(Default)]
pub(super) struct Context {
    context: Option<DCtx<'static>>,
}

impl Context {
    /// A context for a new stream. One that a large window has blown up is given back first.
    fn begin(&mut self) -> Result<&mut DCtx<'static>> {
        let context = match self
            .context
            .take()
            .filter(|context| context.sizeof() <= KEPT_BYTES)
        {
            Some(context) => context,
            None => new_decoder()?,
        };
        let context = self.context.insert(context);
        context.reset(ResetDirective::SessionOnly).map_err(failed)?;
        Ok(context)
    }

    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        self.context.as_ref().map_or(0, DCtx::sizeof)
    }
}

/// Where the reading of a stream stands.
pub(super) struct State {
    pace: Pace,
    /// Whether what was read so far ends with a whole frame (or is nothing).
    between_frames: bool,
    /// How many bytes came out.
    produced: usize,
}

impl State {
    pub(super) fn begin(context: &mut Context, input: &[u8]) -> Result<Self> {
        context.begin()?;
        Ok(Self {
            pace: Pace::new(input.len()),
            between_frames: true,
            produced: 0,
        })
    }
}

fn new_decoder() -> Result<DCtx<'static>> {
    let mut context = DCtx::try_create().ok_or_else(|| no_memory(DCtx::in_size()))?;
    context
        .set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX))
        .map_err(failed)?;
    Ok(context)
}

/// Reads frames one after another, skippable ones included.
pub(super) struct Reader<'d, 'r, 'i> {
    context: &'d mut DCtx<'static>,
    state: &'d mut State,
    /// What was not read yet.
    input: &'r mut &'i [u8],
}

impl<'d, 'r, 'i> Reader<'d, 'r, 'i> {
    pub(super) fn resume(
        context: &'d mut Context,
        state: &'d mut State,
        input: &'r mut &'i [u8],
    ) -> Result<Self> {
        let context = context
            .context
            .as_mut()
            .ok_or_else(|| no_memory(DCtx::in_size()))?;
        Ok(Self {
            context,
            state,
            input,
        })
    }

    pub(super) fn read_into(
        &mut self,
        out: &mut Vec<u8>,
        max: usize,
        limit: usize,
    ) -> Result<usize> {
        // A window costs memory as far as it is filled: small batches ask for large ones too.
        if self.state.produced > limit && self.context.sizeof() / 2 > limit {
            return Err(too_large(format_args!(
                "a frame of zstd has a window above the limit of {limit} bytes, and more than that is in it"
            )));
        }
        while !(self.state.between_frames && self.input.is_empty()) {
            let produced = self.decode_step(out, max)?;
            self.state.produced = self.state.produced.saturating_add(produced);
            if produced > 0 {
                return Ok(produced);
            }
            // There was room, so nothing is held back: a frame that is not at its end lacks input.
            if self.input.is_empty() && !self.state.between_frames {
                return Err(corrupt(Codec::Zstd, "a frame is cut off"));
            }
        }
        Ok(0)
    }

    /// Decodes up to `max` bytes, of one frame at most.
    fn decode_step(&mut self, out: &mut Vec<u8>, max: usize) -> Result<usize> {
        let start = out.len();
        let given = self.state.pace.room(max);
        let mut target = OutBuffer::around(grow(out, given)?);
        let mut source = InBuffer::around(self.input);
        let missing = self
            .context
            .decompress_stream(&mut target, &mut source)
            .map_err(|code| {
                if is_error_kind(code, ZSTD_ErrorCode::ZSTD_error_memory_allocation) {
                    return no_memory(1 << WINDOW_LOG_MAX);
                }
                corrupt(Codec::Zstd, get_error_name(code))
            })?;
        let (read, produced) = (source.pos(), target.pos());
        take(self.input, read);
        out.truncate(start + produced);
        self.state.pace.stepped(given, produced);
        self.state.between_frames = missing == 0;
        Ok(produced)
    }
}

//! gzip: deflate streams in members of RFC 1952. Implements records.md 5.2.
//!
//! The members are read here and not by a crate, because Kafka's tolerance (that of Java's `GZIPInputStream`) is its
//! own: the first header has to be right, but whatever follows a member and is no header ends the stream silently.
//!
//! Written: one member of fixed header, so that equal records make equal bytes.

use crc32fast::Hasher;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::buffer::{Pace, grow, no_memory, reserve, take, take_array};
use super::{Codec, corrupt};
use crate::Result;

/// Magic, method deflate, no flags, no time, no extra flags, operating system unknown.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];

const MAGIC: [u8; 2] = [0x1f, 0x8b];
const DEFLATE: u8 = 8;
const FLAG_HEADER_CRC: u8 = 0x02;
const FLAG_EXTRA: u8 = 0x04;
const FLAG_NAME: u8 = 0x08;
const FLAG_COMMENT: u8 = 0x10;

/// As many bytes after a member are ignored unseen: no member is as short, and Java does not look either.
const IGNORED_TAIL: usize = 18;

/// zlib's default level, which -1 stands for.
const DEFAULT_LEVEL: u32 = 6;

/// The output that deflate is given room for at a time.
const OUTPUT_STEP: usize = 4096;

/// Deflates batches. The state is some 300 KB, and kept for the level that was used last.
#[derive(Default)]
pub(super) struct Encoder {
    deflate: Option<(u32, Compress)>,
}

impl Encoder {
    pub(super) fn encode(
        &mut self,
        level: Option<i32>,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let level = zlib_level(level);
        let deflate = match &mut self.deflate {
            Some((of, deflate)) if *of == level => {
                deflate.reset();
                deflate
            }
            state => {
                &mut state
                    .insert((level, Compress::new(Compression::new(level), false)))
                    .1
            }
        };
        reserve(out, HEADER.len() + OUTPUT_STEP.min(input.len() + 64))?;
        out.extend_from_slice(&HEADER);

        let mut rest = input;
        loop {
            let before = deflate.total_in();
            let status = deflate.compress_vec(rest, out, FlushCompress::Finish);
            take(
                &mut rest,
                crate::types::to_usize(deflate.total_in() - before),
            );
            match status {
                Ok(Status::StreamEnd) => break,
                Ok(Status::Ok | Status::BufError) => reserve(out, OUTPUT_STEP.max(rest.len() / 4))?,
                // zlib refuses only what a caller can do wrong, which leaves memory.
                Err(_) => return Err(no_memory(input.len())),
            }
        }
        reserve(out, 8)?;
        out.extend_from_slice(&crc32fast::hash(input).to_le_bytes());
        out.extend_from_slice(&length_field(input.len()).to_le_bytes());
        Ok(())
    }
}

fn zlib_level(level: Option<i32>) -> u32 {
    match level.and_then(|level| u32::try_from(level).ok()) {
        Some(level @ 1..) => level.min(9),
        _ => DEFAULT_LEVEL,
    }
}

/// The length as a trailer holds it: modulo 2^32.
#[allow(clippy::cast_possible_truncation)] // as RFC 1952 wants it
fn length_field(length: usize) -> u32 {
    length as u32
}

/// The state of inflating, some 40 KB with its window.
#[derive(Default)]
pub(super) struct Inflater {
    inflate: Option<Decompress>,
}

/// Where the reading of a stream stands.
pub(super) struct State {
    pace: Pace,
    /// Of the current member's output so far.
    crc: Hasher,
    length: usize,
    ended: bool,
}

impl State {
    /// Reads the header of the first member.
    pub(super) fn begin(inflater: &mut Inflater, input: &mut &[u8]) -> Result<Self> {
        *input = after_header(input).map_err(|defect| corrupt(Codec::Gzip, defect))?;
        inflater
            .inflate
            .get_or_insert_with(|| Decompress::new(false))
            .reset(false);
        Ok(Self {
            pace: Pace::new(input.len()),
            crc: Hasher::new(),
            length: 0,
            ended: false,
        })
    }
}

/// Reads members one after another.
pub(super) struct Reader<'d, 'r, 'i> {
    inflate: &'d mut Decompress,
    state: &'d mut State,
    /// What was not read yet.
    input: &'r mut &'i [u8],
}

impl<'d, 'r, 'i> Reader<'d, 'r, 'i> {
    pub(super) fn resume(
        inflater: &'d mut Inflater,
        state: &'d mut State,
        input: &'r mut &'i [u8],
    ) -> Self {
        let inflate = inflater
            .inflate
            .get_or_insert_with(|| Decompress::new(false));
        Self {
            inflate,
            state,
            input,
        }
    }

    pub(super) fn read_into(&mut self, out: &mut Vec<u8>, max: usize) -> Result<usize> {
        // Each turn that yields nothing consumes a member.
        while !self.state.ended {
            let produced = self.inflate_step(out, max)?;
            if produced > 0 {
                return Ok(produced);
            }
        }
        Ok(0)
    }

    /// Inflates up to `max` bytes of the current member, and passes on to the next one at its end.
    fn inflate_step(&mut self, out: &mut Vec<u8>, max: usize) -> Result<usize> {
        let start = out.len();
        let given = self.state.pace.room(max);
        let room = grow(out, given)?;
        let (in_before, out_before) = (self.inflate.total_in(), self.inflate.total_out());
        let status = self
            .inflate
            .decompress(self.input, room, FlushDecompress::None)
            .map_err(|error| corrupt(Codec::Gzip, format_args!("{error}, in deflated data")))?;
        take(
            self.input,
            crate::types::to_usize(self.inflate.total_in() - in_before),
        );
        let produced = crate::types::to_usize(self.inflate.total_out() - out_before);
        out.truncate(start + produced);
        self.state.pace.stepped(given, produced);

        self.state.crc.update(out.get(start..).unwrap_or_default());
        self.state.length = self.state.length.wrapping_add(produced);
        if status == Status::StreamEnd {
            self.end_member()?;
        } else if produced == 0 {
            // All input was there and there was room for output.
            return Err(corrupt(Codec::Gzip, "the deflated data is cut off"));
        }
        Ok(produced)
    }

    /// Checks the trailer of the member that was read, and begins the next one if there is any.
    fn end_member(&mut self) -> Result<()> {
        let (Some(crc), Some(length)) = (take_array(self.input), take_array(self.input)) else {
            return Err(corrupt(Codec::Gzip, "a trailer is cut off"));
        };
        let (crc, length) = (u32::from_le_bytes(crc), u32::from_le_bytes(length));
        let found = std::mem::take(&mut self.state.crc).finalize();
        if crc != found {
            return Err(corrupt(
                Codec::Gzip,
                format_args!("CRC {found:#010x} where the trailer says {crc:#010x}"),
            ));
        }
        let found = length_field(std::mem::take(&mut self.state.length));
        if length != found {
            return Err(corrupt(
                Codec::Gzip,
                format_args!("{found} bytes where the trailer says {length}"),
            ));
        }
        match after_header(self.input) {
            Ok(data) if self.input.len() > IGNORED_TAIL => {
                *self.input = data;
                self.inflate.reset(false);
            }
            _ => self.state.ended = true,
        }
        Ok(())
    }
}

/// What follows the header of a member, or what is wrong with it. Reserved flags are not looked at.
fn after_header(member: &[u8]) -> std::result::Result<&[u8], &'static str> {
    const CUT: &str = "a member's header is cut off";
    let mut rest = member;
    if take_array(&mut rest).ok_or(CUT)? != MAGIC {
        return Err("a member does not begin with 1f 8b");
    }
    // Six bytes of time, extra flags and operating system are of no concern.
    let [method, flags, _, _, _, _, _, _] = take_array(&mut rest).ok_or(CUT)?;
    if method != DEFLATE {
        return Err("a member's method is not deflate");
    }
    if flags & FLAG_EXTRA != 0 {
        let length = take_array(&mut rest).map(u16::from_le_bytes).ok_or(CUT)?;
        take(&mut rest, usize::from(length)).ok_or(CUT)?;
    }
    for flag in [FLAG_NAME, FLAG_COMMENT] {
        if flags & flag != 0 {
            let length = rest.iter().position(|&byte| byte == 0).ok_or(CUT)?;
            take(&mut rest, length + 1).ok_or(CUT)?;
        }
    }
    if flags & FLAG_HEADER_CRC != 0 {
        let read = member.get(..member.len() - rest.len()).unwrap_or_default();
        let crc = take_array(&mut rest).map(u16::from_le_bytes).ok_or(CUT)?;
        if crc32fast::hash(read) & 0xffff != u32::from(crc) {
            return Err("a member's header has a wrong CRC");
        }
    }
    Ok(rest)
}

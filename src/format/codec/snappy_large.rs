//! A raw block of snappy that is too large to be held: its bytes come out piece by piece. Implements records.md 5.3.
//!
//! A block is a list of elements: literals, and copies of what lies some bytes back in the output. Writers cut their input into
//! pieces of 64 KiB that do not refer to each other, so little of the output must be kept. How much is known before the first
//! byte is given: all elements are walked over first, which also finds every defect of the block.

use super::buffer::reserve;
use super::{Codec, corrupt};
use crate::Result;

/// So much of the output is kept at most for copies to refer to.
const KEPT_BYTES_MAX: usize = 1 << 20;
/// So many bytes are made together.
const STEP_BYTES: usize = 64 * 1024;

/// Where the output of a block stands.
#[derive(Debug)]
pub(super) struct LargeBlock {
    /// Compressed bytes of the block that are not read yet; they lie at the front of the input.
    unread: usize,
    /// How far back copies refer.
    reach: usize,
    /// The end of the output: what copies may refer to, and what was not given out yet.
    made: Vec<u8>,
    /// How much of `made` was given out.
    given: usize,
    element: Element,
}

/// What is left of an element.
#[derive(Clone, Copy, Debug)]
enum Element {
    Literal { len: usize },
    Copy { len: usize, back: usize },
}

impl Element {
    fn len(self) -> usize {
        match self {
            Self::Literal { len } | Self::Copy { len, .. } => len,
        }
    }
}

/// Takes the next element's tag from the front; `None` if it is cut off.
fn take_element(input: &mut &[u8]) -> Option<Element> {
    let (&tag, rest) = input.split_first()?;
    let extra = match tag & 3 {
        0 if tag >> 2 >= 60 => usize::from(tag >> 2) - 59,
        0 => 0,
        1 => 1,
        2 => 2,
        _ => 4,
    };
    let (bytes, rest) = rest.split_at_checked(extra)?;
    let number = bytes
        .iter()
        .rev()
        .fold(0_usize, |number, byte| number << 8 | usize::from(*byte));
    *input = rest;
    let len = usize::from(tag >> 2);
    Some(match tag & 3 {
        0 if extra > 0 => Element::Literal { len: number + 1 },
        0 => Element::Literal { len: len + 1 },
        1 => Element::Copy {
            len: (len & 7) + 4,
            back: (len >> 3) << 8 | number,
        },
        _ => Element::Copy {
            len: len + 1,
            back: number,
        },
    })
}

/// The elements of a block: those behind the length in front.
fn elements(block: &[u8]) -> &[u8] {
    let of_length = block.iter().take_while(|byte| **byte >= 128).count() + 1;
    block.get(of_length..).unwrap_or_default()
}

impl LargeBlock {
    /// Looks over a block that states `stated` bytes. `None` if it refers further back than may be kept: no writer is known
    /// that does.
    pub(super) fn begin(block: &[u8], stated: usize) -> Result<Option<Self>> {
        let wrong = |what: &str, at: usize| {
            corrupt(
                Codec::Snappy,
                format_args!("{what} at byte {at} of a block that states {stated}"),
            )
        };
        let mut rest = elements(block);
        let (mut made, mut reach) = (0_usize, 0);
        while !rest.is_empty() {
            let element =
                take_element(&mut rest).ok_or_else(|| wrong("an element that is cut off", made))?;
            match element {
                Element::Literal { len } => {
                    rest = rest
                        .get(len..)
                        .ok_or_else(|| wrong("a literal that is cut off", made))?;
                }
                Element::Copy { back, .. } => {
                    if back == 0 || back > made {
                        return Err(wrong("a copy of what was not written", made));
                    }
                    reach = reach.max(back);
                }
            }
            made = made
                .checked_add(element.len())
                .filter(|made| *made <= stated)
                .ok_or_else(|| wrong("too many bytes", made))?;
        }
        if made < stated {
            return Err(wrong("the end", made));
        }
        Ok((reach <= KEPT_BYTES_MAX).then(|| Self {
            unread: elements(block).len(),
            reach,
            made: Vec::new(),
            given: 0,
            element: Element::Literal { len: 0 },
        }))
    }

    /// How many compressed bytes were not read yet.
    pub(super) fn unread(&self) -> usize {
        self.unread
    }

    /// Appends up to `max` of the next bytes to `out`, and answers how many: 0 at the end. `input` begins with what was not
    /// read yet, which it loses.
    pub(super) fn read_into(
        &mut self,
        input: &mut &[u8],
        out: &mut Vec<u8>,
        max: usize,
    ) -> Result<usize> {
        if self.given == self.made.len() {
            self.make(input)?;
        }
        let left = self.made.get(self.given..).unwrap_or_default();
        let given = left.get(..max).unwrap_or(left);
        reserve(out, given.len())?;
        out.extend_from_slice(given);
        self.given += given.len();
        Ok(given.len())
    }

    /// What it holds of memory.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.made.capacity()
    }

    /// Makes the next bytes.
    fn make(&mut self, input: &mut &[u8]) -> Result<()> {
        let kept_from = self.made.len().saturating_sub(self.reach);
        self.made.drain(..kept_from);
        self.given = self.made.len();
        let end = self.given + STEP_BYTES;
        reserve(&mut self.made, STEP_BYTES)?;
        while self.made.len() < end {
            if self.element.len() == 0 {
                let before = input.len();
                if self.unread == 0 {
                    break;
                }
                // The look before has seen that all are whole.
                let Some(element) = take_element(input) else {
                    break;
                };
                self.element = element;
                self.unread = self.unread.saturating_sub(before - input.len());
            }
            let some = self.element.len().min(end - self.made.len());
            match &mut self.element {
                Element::Literal { len } => {
                    let (bytes, rest) = input.split_at_checked(some).unwrap_or((input, &[]));
                    self.made.extend_from_slice(bytes);
                    *input = rest;
                    self.unread = self.unread.saturating_sub(bytes.len());
                    *len -= some;
                }
                Element::Copy { len, back } => {
                    // What is copied may only come to be while it is: it repeats what there is.
                    let from = self.made.len().saturating_sub(*back);
                    let mut left = some;
                    while left > 0 {
                        let n = left.min(self.made.len() - from);
                        self.made.extend_from_within(from..from + n);
                        left -= n;
                    }
                    *len -= some;
                }
            }
        }
        Ok(())
    }
}

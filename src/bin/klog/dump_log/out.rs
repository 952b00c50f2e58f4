//! Text on its way to standard output. What goes wrong is kept until somebody asks, so that printing reads as what it prints.

use std::io::{self, Write};

use super::stop::{Result, Stop};

/// How much is collected before it is written.
const BUFFER_BYTES: usize = 64 * 1024;

/// A buffered writer of texts and numbers.
pub(crate) struct Out<'w> {
    to: &'w mut dyn Write,
    buffer: Vec<u8>,
    failure: Option<io::Error>,
}

impl<'w> Out<'w> {
    pub(crate) fn new(to: &'w mut dyn Write) -> Self {
        Self {
            to,
            buffer: Vec::with_capacity(BUFFER_BYTES),
            failure: None,
        }
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        if self.buffer.len() + bytes.len() > BUFFER_BYTES {
            self.flush();
            if bytes.len() >= BUFFER_BYTES {
                self.write(bytes);
                return self;
            }
        }
        self.buffer.extend_from_slice(bytes);
        self
    }

    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }

    pub(crate) fn int(&mut self, value: impl Into<i64>) -> &mut Self {
        let value = value.into();
        let mut digits = [0; 20];
        let mut at = digits.len();
        let mut left = value.unsigned_abs();
        loop {
            at -= 1;
            digits[at] = b'0' + u8::try_from(left % 10).unwrap_or(0);
            left /= 10;
            if left == 0 {
                break;
            }
        }
        if value < 0 {
            at -= 1;
            digits[at] = b'-';
        }
        self.bytes(&digits[at..])
    }

    pub(crate) fn bool(&mut self, value: bool) -> &mut Self {
        self.text(if value { "true" } else { "false" })
    }

    pub(crate) fn line_end(&mut self) -> &mut Self {
        self.bytes(b"\n")
    }

    /// Writes what was collected.
    pub(crate) fn flush(&mut self) {
        let buffer = std::mem::take(&mut self.buffer);
        self.write(&buffer);
        self.buffer = buffer;
        self.buffer.clear();
    }

    fn write(&mut self, bytes: &[u8]) {
        if self.failure.is_none()
            && let Err(e) = self.to.write_all(bytes)
        {
            self.failure = Some(e);
        }
    }

    /// Whether all could be written so far.
    pub(crate) fn check(&mut self) -> Result<()> {
        match self.failure.take() {
            Some(e) => Err(Stop::Output(e)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_they_are() {
        let mut bytes = Vec::new();
        let mut out = Out::new(&mut bytes);
        for value in [0, 7, -1, 1234, i64::MAX, i64::MIN] {
            out.int(value).text(" ");
        }
        out.flush();
        drop(out);
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            format!("0 7 -1 1234 {} {} ", i64::MAX, i64::MIN)
        );
    }

    #[test]
    fn a_failure_is_told_when_asked_for() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut full = Full;
        let mut out = Out::new(&mut full);
        out.text("a");
        assert!(out.check().is_ok());
        out.flush();
        assert!(matches!(out.check(), Err(Stop::Output(_))));
    }
}

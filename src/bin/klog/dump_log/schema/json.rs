//! JSON as Jackson writes it: compact, with Java's numbers, and only what must be escaped.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use super::super::java::{self, decode_utf8};
use super::super::out::Out;

/// Where JSON goes.
pub(crate) trait Json {
    /// Brackets, commas, colons, numbers.
    fn raw(&mut self, text: &str);
    fn int(&mut self, value: i64);
    /// A string, given as UTF-8 or what Java makes of it.
    fn string(&mut self, bytes: &[u8]);
    fn binary(&mut self, bytes: &[u8]);
    fn uuid(&mut self, uuid: &[u8; 16]);
    fn float(&mut self, value: f64);
}

/// Nowhere: what is read is only checked.
pub(crate) struct Nothing;

impl Json for Nothing {
    fn raw(&mut self, _: &str) {}
    fn int(&mut self, _: i64) {}
    fn string(&mut self, _: &[u8]) {}
    fn binary(&mut self, _: &[u8]) {}
    fn uuid(&mut self, _: &[u8; 16]) {}
    fn float(&mut self, _: f64) {}
}

/// To the output.
pub(crate) struct Writer<'o, 'w> {
    out: &'o mut Out<'w>,
}

impl<'o, 'w> Writer<'o, 'w> {
    pub(crate) fn new(out: &'o mut Out<'w>) -> Self {
        Self { out }
    }

    /// A UUID as Kafka writes it, without quotes.
    pub(crate) fn bare_uuid(&mut self, uuid: &[u8; 16]) {
        self.out.text(&URL_SAFE_NO_PAD.encode(uuid));
    }
}

impl Json for Writer<'_, '_> {
    fn raw(&mut self, text: &str) {
        self.out.text(text);
    }

    fn int(&mut self, value: i64) {
        self.out.int(value);
    }

    fn string(&mut self, bytes: &[u8]) {
        self.out.text("\"");
        decode_utf8(bytes, |piece| escape(self.out, piece));
        self.out.text("\"");
    }

    fn binary(&mut self, bytes: &[u8]) {
        self.out.text("\"");
        // Whole groups of three, so that the pieces join.
        for piece in bytes.chunks(3 * 1024) {
            self.out.text(&STANDARD.encode(piece));
        }
        self.out.text("\"");
    }

    fn uuid(&mut self, uuid: &[u8; 16]) {
        self.out.text("\"");
        self.bare_uuid(uuid);
        self.out.text("\"");
    }

    fn float(&mut self, value: f64) {
        let text = java::double(value);
        if value.is_finite() {
            self.out.text(&text);
        } else {
            self.out.text("\"").text(&text).text("\"");
        }
    }
}

fn escape(out: &mut Out<'_>, piece: &[u8]) {
    let mut plain_from = 0;
    for (i, &byte) in piece.iter().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.bytes(&piece[plain_from..i]);
        plain_from = i + 1;
        match byte {
            b'"' => out.text("\\\""),
            b'\\' => out.text("\\\\"),
            0x08 => out.text("\\b"),
            b'\t' => out.text("\\t"),
            b'\n' => out.text("\\n"),
            0x0c => out.text("\\f"),
            b'\r' => out.text("\\r"),
            _ => out.text(&format!("\\u{byte:04X}")),
        };
    }
    out.bytes(&piece[plain_from..]);
}

//! Random settings of a topic.

use klog::format::codec::Codec;

use crate::support::random::Random;

/// Settings as both sides get them, and what the generator has to know of them.
#[derive(Clone, Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a question of its own"
)]
pub(crate) struct Settings {
    pub(crate) pairs: Vec<(&'static str, String)>,
    pub(crate) compression: Compression,
    /// Whether some appends are compressed anew, so that bytes and sizes are each side's own.
    pub(crate) reencodes: bool,
    pub(crate) segment_bytes: usize,
    pub(crate) segment_ms: i64,
    pub(crate) max_message_bytes: usize,
    pub(crate) log_append_time: bool,
    pub(crate) compacts: bool,
    /// `max.compaction.lag.ms`.
    pub(crate) compaction_lag_ms: i64,
    /// How far behind and ahead of the clock times may be.
    pub(crate) before_ms: i64,
    pub(crate) after_ms: i64,
    /// Whether an index has room for a few entries only. One append must not fill it then (D20), nor may a recovery find
    /// more entries than were written (D46).
    pub(crate) small_index: bool,
}

/// `compression.type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Producer,
    To(Codec),
}

/// One in so many seeds compresses anew.
pub(crate) const REENCODING: u64 = 4;

const UNBOUNDED: usize = 1 << 20;

impl Settings {
    pub(crate) fn any(random: &mut Random, reencodes: bool) -> Self {
        let compression = match random.below(8) {
            _ if reencodes => Compression::To(Codec::ALL[1 + random.below(4)]),
            0 => Compression::To(Codec::None),
            1 => Compression::To(Codec::ALL[1 + random.below(4)]),
            _ => Compression::Producer,
        };
        let small_index = !reencodes && random.once_in(5);
        let segment_bytes = if reencodes || small_index {
            UNBOUNDED
        } else {
            *random.pick(&[600, 1000, 1000, 2500, 2500, UNBOUNDED])
        };
        let compacts = random.once_in(3);
        let is_lag_short = compacts && random.once_in(3);
        let mut settings = Self {
            pairs: Vec::new(),
            compression,
            reencodes,
            segment_bytes,
            segment_ms: *random.pick(&[604_800_000, 604_800_000, 1000, 5000]),
            max_message_bytes: if reencodes {
                UNBOUNDED
            } else {
                *random.pick(&[UNBOUNDED, UNBOUNDED, 350])
            },
            log_append_time: random.once_in(4),
            compacts,
            compaction_lag_ms: if is_lag_short { 3000 } else { i64::MAX },
            before_ms: if random.once_in(3) { 2000 } else { i64::MAX },
            after_ms: if random.once_in(3) { 2000 } else { 3_600_000 },
            small_index,
        };
        settings.pairs = settings.pairs(random);
        settings
    }

    fn pairs(&self, random: &mut Random) -> Vec<(&'static str, String)> {
        let interval = match random.below(4) {
            _ if self.reencodes => 1 << 20,
            _ if self.small_index => 0,
            0 => 0,
            1 => 100,
            2 => 300,
            _ => 4096,
        };
        let mut pairs = vec![
            ("internal.segment.bytes", self.segment_bytes.to_string()),
            ("segment.ms", self.segment_ms.to_string()),
            ("index.interval.bytes", interval.to_string()),
            (
                "segment.index.bytes",
                if self.small_index { 60 } else { 16_384 }.to_string(),
            ),
            ("max.message.bytes", self.max_message_bytes.to_string()),
            (
                "message.timestamp.before.max.ms",
                self.before_ms.to_string(),
            ),
            ("message.timestamp.after.max.ms", self.after_ms.to_string()),
        ];
        let mut set = |key, value: &str| pairs.push((key, value.to_owned()));
        match self.compression {
            Compression::Producer => {}
            Compression::To(Codec::None) => set("compression.type", "uncompressed"),
            Compression::To(codec) => set("compression.type", codec.name()),
        }
        if self.log_append_time {
            set("message.timestamp.type", "LogAppendTime");
        }
        if self.compacts {
            set(
                "cleanup.policy",
                if random.once_in(2) {
                    "compact"
                } else {
                    "compact,delete"
                },
            );
            set("max.compaction.lag.ms", &self.compaction_lag_ms.to_string());
        }
        if random.once_in(5) {
            set("flush.messages", if random.once_in(2) { "1" } else { "5" });
        }
        if random.once_in(8) {
            set("preallocate", "true");
        }
        if random.once_in(8) {
            set("max.decompressed.message.bytes", "120");
        }
        pairs
    }

    /// A codec of a batch that a leader takes as it is, or makes anew without compressing.
    pub(crate) fn any_codec(&self, random: &mut Random) -> Codec {
        match self.compression {
            Compression::To(codec) if codec != Codec::None && !self.reencodes => codec,
            _ => Codec::ALL[random.below(5)],
        }
    }

    /// Like [`Settings::any_codec`], but one that compresses.
    pub(crate) fn compressing_codec(&self, random: &mut Random) -> Codec {
        match self.any_codec(random) {
            Codec::None => Codec::ALL[1 + random.below(4)],
            codec => codec,
        }
    }

    /// Whether a leader takes an uncompressed batch without compressing it, or may compress it.
    pub(crate) fn takes_uncompressed(&self) -> bool {
        self.reencodes
            || matches!(
                self.compression,
                Compression::Producer | Compression::To(Codec::None)
            )
    }

    /// Whether a leader takes a batch of this codec as it is.
    pub(crate) fn takes_in_place(&self, codec: Codec) -> bool {
        match self.compression {
            Compression::Producer => true,
            Compression::To(to) => to == codec,
        }
    }
}

//! Values that are one of a few names, or some of them. The names are Kafka's.

macro_rules! choice {
    ($(#[$doc:meta])* $name:ident { $($(#[$note:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$note])* $variant,)* }

        impl $name {
            pub(super) const NAMES: &'static [&'static str] = &[$($text,)*];

            /// The name that a configuration uses.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The choice with this name; names are case-sensitive.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

choice! {
    /// What `compression.type` says; the order is that of Kafka's messages.
    Compression {
        /// Batches are stored uncompressed.
        Uncompressed = "uncompressed",
        /// Batches are stored with zstd.
        Zstd = "zstd",
        /// Batches are stored with lz4.
        Lz4 = "lz4",
        /// Batches are stored with snappy.
        Snappy = "snappy",
        /// Batches are stored with gzip.
        Gzip = "gzip",
        /// Batches keep the codec that their producer chose.
        #[default]
        Producer = "producer",
    }
}

choice! {
    /// What `message.timestamp.type` says.
    TimestampType {
        /// Records keep the timestamps they come with.
        #[default]
        CreateTime = "CreateTime",
        /// Records get the time of the append.
        LogAppendTime = "LogAppendTime",
    }
}

choice! {
    /// What `klog.unmanaged.topics` says: how retention and the cleaner treat topics that were found on disk and given
    /// no overrides, not even an empty set (manager.md 2.2).
    UnmanagedTopics {
        /// They are left alone.
        #[default]
        Ignore = "ignore",
        /// They are managed with the topic defaults, as Kafka does.
        Manage = "manage",
    }
}

/// What `cleanup.policy` says. Neither keeps records for ever, both apply both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CleanupPolicy {
    /// Superseded records are compacted away.
    pub compact: bool,
    /// Retention deletes old segments.
    pub delete: bool,
}

impl CleanupPolicy {
    pub(super) const NAMES: &'static [&'static str] = &["compact", "delete"];

    /// The policy with these words (config.md 5.6).
    pub(super) fn from_words(words: &[String]) -> Self {
        let has = |word| words.iter().any(|w| w == word);
        Self {
            compact: has("compact"),
            delete: has("delete"),
        }
    }
}

//! What is fuzzed: one function for each format, which takes any bytes and checks what must hold for them. The targets of
//! libFuzzer (`fuzz/`) and `tests/fuzz_corpus.rs` run the same ones.
//!
//! A body panics when a promise is broken: that no input makes klog panic is only the first. What parses is written and
//! parsed again to the same; what is written parses to what it was made from; two ways of reading give the same; output is
//! bounded by what the input justifies.
#![allow(dead_code, reason = "each binary uses the part it needs")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "that is how a body tells"
)]

mod append;
mod batch;
mod calls;
mod codec;
mod control;
mod directory;
mod foreign;
mod indexes;
mod legacy;
mod names;
mod text;
mod varint;

/// A format that is fuzzed.
pub(crate) struct Target {
    /// Its name, as of the file in `fuzz/fuzz_targets`.
    pub(crate) name: &'static str,
    /// What is run.
    pub(crate) body: fn(&[u8]),
    /// Inputs from which mutations lead to interesting ones.
    pub(crate) seeds: fn() -> Vec<Vec<u8>>,
    /// How many mutations are run in one `make test`: the slow ones get fewer.
    pub(crate) mutations: u64,
}

/// All targets.
pub(crate) const TARGETS: &[Target] = &[
    Target {
        name: "batch",
        body: batch::body,
        seeds: batch::seeds,
        mutations: 12_000,
    },
    Target {
        name: "append",
        body: append::body,
        seeds: append::seeds,
        mutations: 6_000,
    },
    Target {
        name: "calls",
        body: calls::body,
        seeds: calls::seeds,
        mutations: 600,
    },
    Target {
        name: "foreign",
        body: foreign::body,
        seeds: foreign::seeds,
        mutations: 6_000,
    },
    Target {
        name: "legacy",
        body: legacy::body,
        seeds: legacy::seeds,
        mutations: 12_000,
    },
    Target {
        name: "control",
        body: control::body,
        seeds: control::seeds,
        mutations: 6_000,
    },
    Target {
        name: "gzip",
        body: codec::gzip,
        seeds: codec::gzip_seeds,
        mutations: 6_000,
    },
    Target {
        name: "snappy",
        body: codec::snappy,
        seeds: codec::snappy_seeds,
        mutations: 6_000,
    },
    Target {
        name: "lz4",
        body: codec::lz4,
        seeds: codec::lz4_seeds,
        mutations: 6_000,
    },
    Target {
        name: "zstd",
        body: codec::zstd,
        seeds: codec::zstd_seeds,
        mutations: 4_000,
    },
    Target {
        name: "varint",
        body: varint::body,
        seeds: varint::seeds,
        mutations: 10_000,
    },
    Target {
        name: "offset_index",
        body: indexes::offset_index,
        seeds: indexes::offset_seeds,
        mutations: 10_000,
    },
    Target {
        name: "time_index",
        body: indexes::time_index,
        seeds: indexes::time_seeds,
        mutations: 10_000,
    },
    Target {
        name: "txn_index",
        body: indexes::txn_index,
        seeds: indexes::txn_seeds,
        mutations: 10_000,
    },
    Target {
        name: "snapshot",
        body: indexes::snapshot,
        seeds: indexes::snapshot_seeds,
        mutations: 10_000,
    },
    Target {
        name: "offset_checkpoint",
        body: text::offset_checkpoint,
        seeds: text::offset_seeds,
        mutations: 10_000,
    },
    Target {
        name: "epoch_checkpoint",
        body: text::epoch_checkpoint,
        seeds: text::epoch_seeds,
        mutations: 10_000,
    },
    Target {
        name: "names",
        body: names::body,
        seeds: names::seeds,
        mutations: 10_000,
    },
    Target {
        name: "partition_metadata",
        body: text::partition_metadata,
        seeds: text::metadata_seeds,
        mutations: 10_000,
    },
    Target {
        name: "meta_properties",
        body: text::meta_properties,
        seeds: text::properties_seeds,
        mutations: 10_000,
    },
    Target {
        name: "config",
        body: text::config,
        seeds: text::config_seeds,
        mutations: 6_000,
    },
    Target {
        name: "directory",
        body: directory::body,
        seeds: directory::seeds,
        mutations: 4_000,
    },
];

/// Runs the body of a target by its name.
pub(crate) fn run(name: &str, data: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    (target
        .unwrap_or_else(|| panic!("there is no target {name}"))
        .body)(data);
}

/// Bytes taken from the front of an input, as choices; at its end all is zero.
pub(crate) struct Choices<'a>(pub(crate) &'a [u8]);

impl<'a> Choices<'a> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        taken
    }

    pub(crate) fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut array = [0; N];
        let taken = self.bytes(N);
        array[..taken.len()].copy_from_slice(taken);
        array
    }

    pub(crate) fn u8(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::from(self.u8()) % bound
    }

    pub(crate) fn i64(&mut self) -> i64 {
        i64::from_be_bytes(self.array())
    }

    /// Bytes with a length of two bytes in front.
    pub(crate) fn long_bytes(&mut self) -> &'a [u8] {
        let len = u16::from_be_bytes(self.array());
        self.bytes(usize::from(len))
    }
}

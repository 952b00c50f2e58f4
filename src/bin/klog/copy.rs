//! `klog copy`.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use klog::inspect::copy::copy as copy_logs;
use klog::io::{FileSystem, RealFs};

use super::args::CopyArgs;
use super::{Failure, config_args, output_error, progress, tell};

/// Copies logs and prints a line for each.
pub(crate) fn copy(args: &CopyArgs) -> std::result::Result<ExitCode, Failure> {
    let config = config_args::resolve(&args.config, None)?;
    let fs: Arc<dyn FileSystem> = Arc::new(RealFs);
    let (done, findings) = progress::show("copying", || {
        copy_logs(&fs, &args.source, &args.target, &args.partitions, &config)
    })?;
    let mut out = std::io::stdout().lock();
    for copied in done {
        writeln!(
            out,
            "copied {} start={} end={} segments={} new_segments={} new_bytes={}",
            copied.partition,
            copied.start,
            copied.end,
            copied.segments,
            copied.segments_copied,
            copied.bytes_copied
        )
        .map_err(|e| output_error(&e))?;
    }
    Ok(tell(&findings))
}

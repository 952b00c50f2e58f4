//! `klog report`: what `klog stat` tells, as one page of HTML that needs nothing else to be read.
//!
//! Numbers are gathered log by log ([`gather`]), plots are functions from data to text ([`charts`], [`plot`], [`scale`]), the
//! page puts them together ([`page`]).

mod charts;
mod details;
mod gather;
mod html;
mod output;
mod page;
mod plot;
mod scale;
mod sections;

use std::process::ExitCode;
use std::sync::Arc;

use klog::inspect::disk_use;
use klog::inspect::stat::each;
use klog::inspect::verify::verify;
use klog::io::{Clock, FileSystem, RealFs, SystemClock};
use klog::types::TimestampMs;

use crate::args::ReportArgs;
use crate::{Failure, config_args, progress, tell};
use gather::Gathered;
use output::Target;
use page::Content;

/// Writes the page.
pub(crate) fn report(args: &ReportArgs) -> std::result::Result<ExitCode, Failure> {
    let dir = &args.dir.dir;
    let fs: Arc<dyn FileSystem> = Arc::new(RealFs);
    let target = Target::of(&*fs, dir, &args.output)?;
    let config = config_args::resolve(&args.dir.config, args.partition.as_ref())?;
    let now = args.now_ms.map_or_else(|| SystemClock.now(), TimestampMs);
    let only = args.partition.as_ref();
    let (content, findings) = progress::show("reading", || -> klog::Result<_> {
        let mut gathered = Gathered::default();
        let findings = each(&fs, dir, only, &config, now, &mut |stat| gathered.add(stat))?;
        let disk = match only {
            Some(_) => None,
            None => Some(disk_use(&*fs, dir)?),
        };
        let verdict = if args.verify {
            Some(verify(&*fs, dir, only)?)
        } else {
            None
        };
        let content = Content {
            dir: dir.display().to_string(),
            only: only.map(ToString::to_string),
            now,
            gathered,
            disk,
            verdict,
        };
        Ok((content, findings))
    })?;
    target.write(&page::render(&content, &findings))?;
    Ok(tell(&findings))
}

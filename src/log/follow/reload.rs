//! Loading a log that another process owns, at first and whenever it is not the one that was known.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::listing::Listing;
use super::{Follower, LOOKS_MAX, View, gone, overlay};
use crate::error::Result;
use crate::io::{Clock, FileSystem, exists};
use crate::log::load::{self, LoadOptions, Loaded};
use crate::log::{HighWatermark, Log, Shutdown};
use crate::types::Offset;

/// Loads the log of a directory as it is, and what that was before. What its owner takes away meanwhile makes it begin again.
pub(super) fn load(
    fs: &Arc<dyn FileSystem>,
    clock: &dyn Clock,
    dir: &Arc<Path>,
    options: &LoadOptions,
) -> Result<(Loaded, Listing)> {
    let mut loads = 0;
    loop {
        loads += 1;
        match load_once(fs, clock, dir, options) {
            Err(e) if e.is_changed_meanwhile() => {
                if !exists(&**fs, dir)? {
                    return Err(gone(dir));
                }
                if loads == LOOKS_MAX {
                    return Err(e);
                }
            }
            other => return other,
        }
    }
}

fn load_once(
    fs: &Arc<dyn FileSystem>,
    clock: &dyn Clock,
    dir: &Arc<Path>,
    options: &LoadOptions,
) -> Result<(Loaded, Listing)> {
    // Before the load: what is replaced while it runs shows as changed at the next look.
    let listing = Listing::settled(&**fs, dir)?.unwrap_or_default();
    let loaded = load::load(&overlay(fs), clock, dir, options)?;
    for segment in &loaded.segments {
        // Now: it may be replaced together with its segment.
        segment.aborted_txns()?;
    }
    Ok((loaded, listing))
}

impl Log {
    /// Loads the log anew. Readers that run look again; handles go on with what there is now.
    pub(super) fn reload(
        &self,
        view: &mut View,
        follower: &Follower,
        good_below: Offset,
    ) -> Result<()> {
        let is_watermark_manual = self.lock_writer().is_watermark_manual;
        let options = LoadOptions {
            // Somebody works on it.
            shutdown: Shutdown::Unclean,
            recovery_point: view.stored.recovery_point.max(good_below),
            log_start: view.stored.log_start,
            config: self.config(),
            producer_expiration_ms: follower.producer_expiration_ms,
            high_watermark: if is_watermark_manual {
                HighWatermark::SetByCaller(view.stored.high_watermark)
            } else {
                HighWatermark::FollowsEnd
            },
            progress: None,
            spare_threads: Arc::default(),
            new_name: None,
        };
        let (loaded, listing) = load(&self.fs, &*self.clock, &self.dir(), &options)?;
        view.last = loaded.writer.segment().last_batch()?;
        view.listing = listing;
        view.is_new = true;
        let topic_id = loaded.topic_id;
        let (start, recovery_point) = (loaded.log_start, loaded.recovery_point);
        let (segments, next) = Self::writer_of(&options, loaded);
        let mut writer = self.lock_writer();
        self.cuts.fetch_add(1, Ordering::SeqCst);
        *writer = next;
        self.start.store(start.0, Ordering::SeqCst);
        self.recovery_point
            .store(recovery_point.0, Ordering::SeqCst);
        self.segments.store(Arc::new(segments));
        self.publish(&writer);
        self.cuts.fetch_add(1, Ordering::SeqCst);
        drop(writer);
        if topic_id.is_some() {
            *self.topic_id.lock() = topic_id;
        }
        Ok(())
    }
}

//! Readers of a follower while it is brought up to date, and while its owner works.

use std::sync::atomic::{AtomicBool, Ordering};

use klog::log::CursorOptions;
use klog::manager::{Pass, Task};
use klog::types::Offset;

use crate::pair::{Pair, ensure_same};
use crate::support::engine::{Home, NOW, append, rec};

const BATCHES: i64 = 3000;
const READERS: usize = 2;

#[test]
fn readers_get_every_record_in_order_while_the_owner_goes_on() {
    let home = Home::new()
        .set("internal.segment.bytes", 4000)
        .set("retention.bytes", 100_000)
        .set_broker("klog.max.open.files", 4);
    let pair = Pair::new(home);
    let (owned, seen) = pair.logs();
    let (is_done, has_failed) = (AtomicBool::new(false), AtomicBool::new(false));
    let fails = || {
        struct OnPanic<'f>(&'f AtomicBool);
        impl Drop for OnPanic<'_> {
            fn drop(&mut self) {
                self.0.fetch_or(std::thread::panicking(), Ordering::SeqCst);
            }
        }
        OnPanic(&has_failed)
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _failure = fails();
            for n in 0..BATCHES {
                let value = format!("v{}", owned.end_offset());
                append(&owned, &[rec(NOW, "k", &value)]);
                if n % 500 == 499 {
                    pair.owner.retain(&owned, Pass::Apply).unwrap();
                    pair.home.clock.advance(100_000);
                    pair.owner.run(Task::DeleteFiles).unwrap();
                    pair.owner.checkpoint().unwrap();
                }
            }
            is_done.store(true, Ordering::SeqCst);
        });
        scope.spawn(|| {
            let _failure = fails();
            while seen.end_offset() < Offset(BATCHES) && !has_failed.load(Ordering::SeqCst) {
                pair.follower.refresh().unwrap();
            }
        });
        for _ in 0..READERS {
            scope.spawn(|| {
                let _failure = fails();
                let mut cursor = seen.cursor(Offset(0), CursorOptions::default());
                let mut next = 0;
                while next < BATCHES && !has_failed.load(Ordering::SeqCst) {
                    match cursor.next_records(100) {
                        Ok(records) => {
                            for record in records.iter() {
                                let value = record.value.unwrap();
                                assert_eq!(record.offset.0, next);
                                assert_eq!(value, format!("v{next}").as_bytes());
                                next += 1;
                            }
                        }
                        Err(e) => {
                            let start = seen.start_offset();
                            assert!(start.0 > next, "{e}");
                            next = start.0;
                            cursor.seek(start);
                        }
                    }
                }
            });
        }
    });
    assert!(is_done.load(Ordering::SeqCst));
    pair.follower.refresh().unwrap();
    ensure_same(&owned, &seen);
    assert!(seen.start_offset() > Offset(0));
}

//! Directories of few and of many partitions.

use klog::manager::{CreateOptions, Manager};
use klog::types::TopicPartition;

use crate::counted::{Disk, append_one, assert_linear};

const PARTITIONS: [i64; 3] = [10, 100, 1000];

fn fill(manager: &Manager, partitions: i64) {
    for n in 0..partitions {
        let partition = TopicPartition::new("t", n as i32);
        let log = manager
            .get_or_create_log(&partition, &CreateOptions::default())
            .unwrap();
        append_one(&log, 0);
    }
}

#[test]
fn making_opening_and_closing_partitions_is_linear() {
    let mut points = vec![Vec::new(); 8];
    for partitions in PARTITIONS {
        let disk = Disk::new(1 << 20);
        let manager = disk.open();
        let (made, ()) = disk.count(|| fill(&manager, partitions));
        let (closed, ()) = disk.count(|| manager.close().unwrap());
        let (opened, manager) = disk.count(|| disk.open());
        assert_eq!(manager.logs().len() as i64, partitions);
        manager.abandon();
        let (recovered, manager) = {
            let killed = disk.after_kill();
            killed.count(|| killed.open())
        };
        assert_eq!(manager.logs().len() as i64, partitions);
        manager.abandon();
        for (kind, done) in [made, closed, opened, recovered].iter().enumerate() {
            println!("{partitions} partitions: {done}");
            points[2 * kind].push((partitions, done.calls()));
            points[2 * kind + 1].push((partitions, done.bytes()));
        }
    }
    let names = ["made", "closed", "opened", "opened after a kill"];
    for (kind, name) in names.iter().enumerate() {
        assert_linear(&format!("{name}, calls"), &points[2 * kind]);
        assert_linear(&format!("{name}, bytes"), &points[2 * kind + 1]);
    }
}

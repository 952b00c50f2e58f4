//! Changing the configuration while logs are open, as a C program does it.

use std::ptr::{null, null_mut};

use klog::ffi::append::*;
use klog::ffi::config::*;
use klog::ffi::constants::*;
use klog::ffi::log::*;
use klog::ffi::manager::*;
use klog::ffi::types::*;

use crate::calls::*;

fn config(kind: u32, keys: &[(&str, &str)]) -> klog_config {
    let mut made = klog_config { id: 0 };
    ok(|e| klog_config_create(kind, &raw mut made, e));
    for (key, value) in keys {
        ok(|e| {
            klog_config_set(
                made,
                key.as_ptr().cast(),
                key.len(),
                value.as_ptr().cast(),
                value.len(),
                e,
            )
        });
    }
    made
}

fn append_of(log: klog_log, bytes: usize) -> klog_status {
    let value = vec![b'v'; bytes];
    let (key, value) = (null(), value.as_ptr().cast());
    klog_append_one(log, key, 0, value, bytes, 1, null_mut(), null_mut())
}

#[test]
fn broker_keys_and_those_of_a_topic_change_while_logs_are_open() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let (t, u) = (log(owner, "t"), log(owner, "u"));
    let small = config(KLOG_CONFIG_BROKER, &[("message.max.bytes", "1000")]);
    ok(|e| klog_manager_set_config(owner, small, e));
    assert_eq!(append_of(t, 2000), KLOG_ERR_MESSAGE_TOO_LARGE);
    let own = config(KLOG_CONFIG_TOPIC, &[("max.message.bytes", "5000")]);
    ok(|e| klog_log_set_config(t, own, e));
    assert_eq!(append_of(t, 2000), KLOG_OK);
    assert_eq!(append_of(u, 2000), KLOG_ERR_MESSAGE_TOO_LARGE);
    // What a topic was given stays when the broker's keys change, and goes when it is given something else.
    let smaller = config(KLOG_CONFIG_BROKER, &[("message.max.bytes", "500")]);
    ok(|e| klog_manager_set_config(owner, smaller, e));
    assert_eq!(append_of(t, 2000), KLOG_OK);
    let none = config(KLOG_CONFIG_TOPIC, &[]);
    ok(|e| klog_log_set_config(t, none, e));
    assert_eq!(append_of(t, 700), KLOG_ERR_MESSAGE_TOO_LARGE);
    close(owner);
}

#[test]
fn changes_that_cannot_be_made_change_nothing() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let t = log(owner, "t");
    let fixed = config(
        KLOG_CONFIG_BROKER,
        &[("message.max.bytes", "10"), ("log.dirs", "/elsewhere")],
    );
    refused(KLOG_ERR_INVALID_CONFIG, "log.dirs", |e| {
        klog_manager_set_config(owner, fixed, e)
    });
    let cordoned = config(KLOG_CONFIG_BROKER, &[("cordoned.log.dirs", "/elsewhere")]);
    refused(KLOG_ERR_INVALID_CONFIG, "/elsewhere", |e| {
        klog_manager_set_config(owner, cordoned, e)
    });
    let lags = [
        ("min.compaction.lag.ms", "9"),
        ("max.compaction.lag.ms", "3"),
    ];
    let contradicting = config(KLOG_CONFIG_TOPIC, &lags);
    refused(KLOG_ERR_INVALID_CONFIG, "min.compaction.lag.ms", |e| {
        klog_log_set_config(t, contradicting, e)
    });
    let topic = config(KLOG_CONFIG_TOPIC, &[]);
    refused(KLOG_ERR_INVALID_ARGUMENT, "broker keys", |e| {
        klog_manager_set_config(owner, topic, e)
    });
    refused(KLOG_ERR_INVALID_ARGUMENT, "topic keys", |e| {
        klog_log_set_config(t, fixed, e)
    });
    assert_eq!(append_of(t, 700), KLOG_OK);
    close(owner);
}

//! Configurations, by Kafka's keys.

use std::ffi::c_char;

use super::args::{check_required, give_text, text, text_bytes, topic};
use super::constants::*;
use super::guard::guard;
use super::handles::{self, Kind};
use super::types::{klog_config, klog_error, klog_status};
use crate::config::{ConfigSet, describe};
use crate::error::{Error, ErrorKind};

/// Makes an empty configuration: KLOG_CONFIG_BROKER for klog_manager_open, KLOG_CONFIG_TOPIC for klog_log_open.
///
/// Thread class T2, cost class C1. out is required, null on failure; err is nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_config_create(
    kind: u32,
    out: *mut klog_config,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_config_create", err, |_| {
        check_required(out, "out")?;
        let made = match kind {
            KLOG_CONFIG_BROKER => Ok(ConfigSet::broker()),
            KLOG_CONFIG_TOPIC => Ok(ConfigSet::topic()),
            other => Err(Error::invalid_argument(format!(
                "kind {other} is none of the KLOG_CONFIG_ constants"
            ))),
        };
        put_handle(
            out,
            made.and_then(handles::add_config),
            klog_config { id: 0 },
        )
    })
}

/// Writes a new handle, or the null handle with the failure.
pub(crate) fn put_handle<H>(
    out: *mut H,
    made: crate::error::Result<H>,
    null: H,
) -> crate::error::Result<()> {
    let (handle, answer) = match made {
        Ok(handle) => (handle, Ok(())),
        Err(e) => (null, Err(e)),
    };
    // SAFETY: not null, checked by the caller of this function; the header requires room for a handle there.
    unsafe { out.write_unaligned(handle) };
    answer
}

/// Sets a key. A bad value is KLOG_ERR_INVALID_CONFIG and an unknown key KLOG_ERR_UNKNOWN_CONFIG, which names the nearest
/// known one; both change nothing. Lengths may be KLOG_NTS.
///
/// Thread class T1, cost class C1. key and value are required; err is nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_config_set(
    config: klog_config,
    key: *const c_char,
    key_len: usize,
    value: *const c_char,
    value_len: usize,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_config_set", err, |_| {
        let (key, value) = (text(key, key_len, "key")?, text(value, value_len, "value")?);
        handles::with_config(config, |set| set.set(key, value))
    })
}

/// Sets a key for one topic, in a broker config. A null key of length 0 gives the topic an empty set of overrides: it is
/// managed then, with the defaults.
///
/// Thread class T1, cost class C1. topic is required, key and value unless key_len is 0; err is nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_config_set_topic(
    config: klog_config,
    topic_name: *const c_char,
    topic_len: usize,
    key: *const c_char,
    key_len: usize,
    value: *const c_char,
    value_len: usize,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_config_set_topic", err, |_| {
        let topic = topic(topic_name, topic_len)?;
        if key.is_null() && key_len == 0 {
            return handles::with_config(config, |set| set.manage_topic(topic));
        }
        let (key, value) = (text(key, key_len, "key")?, text(value, value_len, "value")?);
        handles::with_config(config, |set| set.set_topic(topic, key, value))
    })
}

/// Takes in a text in the syntax of server.properties, read as Kafka reads it (ISO-8859-1 with \uXXXX), also with
/// topic.NAME.KEY lines. A bad value is an error with its line in err->record_index, and changes nothing; an unknown key
/// is a line of klog_manager_report when the config is used.
///
/// Thread class T1, cost class C1. properties is required unless len is 0; err is nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_config_load(
    config: klog_config,
    properties: *const c_char,
    len: usize,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_config_load", err, |_| {
        let content = text_bytes(properties, len, "properties")?;
        handles::with_config(config, |set| set.load_properties(content).map(|_| ()))
    })
}

/// The value of a key as it is in effect: set, or the default; empty if it has none. With its NUL it needs *needed bytes;
/// KLOG_ERR_BUFFER_TOO_SMALL if cap is below that.
///
/// Thread class T1, cost class C1. key is required; buf may be null with cap 0; needed and err are nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_config_get(
    config: klog_config,
    key: *const c_char,
    key_len: usize,
    buf: *mut c_char,
    cap: usize,
    needed: *mut usize,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_config_get", err, |_| {
        let key = text(key, key_len, "key")?;
        let value = handles::with_config(config, |set| set.get(key))?;
        give_text(&value.unwrap_or_default(), buf, cap, needed)
    })
}

/// What is known of key number index, as lines with a name each: `key: `, `scope: `, `type: `, `default: `, where there is one
/// `range: `, `dynamic: `, what else is to be said, and `doc: `. KLOG_ERR_END behind the last.
///
/// Thread class T0, cost class C1. buf may be null with cap 0; needed and err are nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_config_describe(
    index: u32,
    buf: *mut c_char,
    cap: usize,
    needed: *mut usize,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_config_describe", err, |_| {
        let key = describe(index as usize)
            .ok_or_else(|| Error::new(ErrorKind::End, format!("there is no key number {index}")))?;
        give_text(&key.to_string(), buf, cap, needed)
    })
}

/// Ends a configuration. What was opened with it has a copy.
///
/// Thread class T2, cost class C1.
#[unsafe(no_mangle)]
pub extern "C" fn klog_config_close(config: klog_config) -> klog_status {
    guard("klog_config_close", std::ptr::null_mut(), |_| {
        handles::remove(Kind::Config, config.id).map(drop)
    })
}

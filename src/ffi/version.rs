//! What the library is, and whether a header fits it.

use std::ffi::{CStr, c_char};

use super::constants::*;
use super::guard::guard;
use super::layout::layout_hash;
use super::types::{klog_error, klog_status};
use crate::error::{Error, ErrorKind};

/// Hash over every struct's layout and every constant of this header, for klog_abi_check.
pub const KLOG_LAYOUT_HASH: u64 = 3_106_880_494_487_818_162;

/// The version of the library that is loaded: (MAJOR << 16) | (MINOR << 8) | PATCH.
///
/// Thread class T3, cost class C0.
#[unsafe(no_mangle)]
pub extern "C" fn klog_version_number() -> u32 {
    const fn number(text: &str) -> u32 {
        let mut value = 0;
        let mut rest = text.as_bytes();
        while let [digit, tail @ ..] = rest {
            value = value * 10 + (*digit - b'0') as u32;
            rest = tail;
        }
        value
    }
    const MAJOR: u32 = number(env!("CARGO_PKG_VERSION_MAJOR"));
    const MINOR: u32 = number(env!("CARGO_PKG_VERSION_MINOR"));
    const PATCH: u32 = number(env!("CARGO_PKG_VERSION_PATCH"));
    (MAJOR << 16) | (MINOR << 8) | PATCH
}

/// The version of the library that is loaded, as text. Static.
///
/// Thread class T3, cost class C0.
#[unsafe(no_mangle)]
pub extern "C" fn klog_version_string() -> *const c_char {
    const TEXT: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(text) => text,
            Err(_) => c"?",
        };
    TEXT.as_ptr()
}

/// What is built in: KLOG_FEATURE_ bits.
///
/// Thread class T3, cost class C0.
#[unsafe(no_mangle)]
pub extern "C" fn klog_features() -> u64 {
    KLOG_FEATURE_GZIP
        | KLOG_FEATURE_SNAPPY
        | KLOG_FEATURE_LZ4
        | KLOG_FEATURE_ZSTD
        | KLOG_FEATURE_MMAP
}

/// Whether the header that the caller was compiled with fits this library: call
/// `klog_abi_check(KLOG_ABI, KLOG_LAYOUT_HASH, &err)` first. KLOG_ERR_ABI if not.
///
/// Thread class T0, cost class C0. err is nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_abi_check(
    abi: u32,
    layout_hash_of_header: u64,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_abi_check", err, |_| {
        if abi == KLOG_ABI && layout_hash_of_header == layout_hash() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Abi,
            format!(
                "the header is of ABI {abi} with layout {layout_hash_of_header:#x}, this library ({}) of ABI {KLOG_ABI} \
                 with layout {:#x}; compile with the header that came with the library",
                env!("CARGO_PKG_VERSION"),
                layout_hash()
            ),
        ))
    })
}

/// The name of a status, "KLOG_ERR_STALE_HANDLE"; "KLOG_ERR_?" for a number that is none. Static.
///
/// Thread class T3, cost class C0.
#[unsafe(no_mangle)]
pub extern "C" fn klog_status_name(status: klog_status) -> *const c_char {
    let name = match status {
        KLOG_OK => c"KLOG_OK",
        other => ErrorKind::from_status(other).map_or(c"KLOG_ERR_?", ErrorKind::c_name),
    };
    name.as_ptr()
}

/// The name of an error code of Kafka's protocol, "OFFSET_OUT_OF_RANGE"; "UNKNOWN_SERVER_ERROR" for an unknown one.
/// Static.
///
/// Thread class T3, cost class C0.
#[unsafe(no_mangle)]
pub extern "C" fn klog_kafka_error_name(kafka_code: i32) -> *const c_char {
    kafka_name(kafka_code).as_ptr()
}

/// The names of Kafka 4.4.0's `Errors`.
#[allow(clippy::too_many_lines)] // a table
fn kafka_name(code: i32) -> &'static CStr {
    match code {
        -1 => c"UNKNOWN_SERVER_ERROR",
        0 => c"NONE",
        1 => c"OFFSET_OUT_OF_RANGE",
        2 => c"CORRUPT_MESSAGE",
        3 => c"UNKNOWN_TOPIC_OR_PARTITION",
        4 => c"INVALID_FETCH_SIZE",
        5 => c"LEADER_NOT_AVAILABLE",
        6 => c"NOT_LEADER_OR_FOLLOWER",
        7 => c"REQUEST_TIMED_OUT",
        8 => c"BROKER_NOT_AVAILABLE",
        9 => c"REPLICA_NOT_AVAILABLE",
        10 => c"MESSAGE_TOO_LARGE",
        11 => c"STALE_CONTROLLER_EPOCH",
        12 => c"OFFSET_METADATA_TOO_LARGE",
        13 => c"NETWORK_EXCEPTION",
        14 => c"COORDINATOR_LOAD_IN_PROGRESS",
        15 => c"COORDINATOR_NOT_AVAILABLE",
        16 => c"NOT_COORDINATOR",
        17 => c"INVALID_TOPIC_EXCEPTION",
        18 => c"RECORD_LIST_TOO_LARGE",
        19 => c"NOT_ENOUGH_REPLICAS",
        20 => c"NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        21 => c"INVALID_REQUIRED_ACKS",
        22 => c"ILLEGAL_GENERATION",
        23 => c"INCONSISTENT_GROUP_PROTOCOL",
        24 => c"INVALID_GROUP_ID",
        25 => c"UNKNOWN_MEMBER_ID",
        26 => c"INVALID_SESSION_TIMEOUT",
        27 => c"REBALANCE_IN_PROGRESS",
        28 => c"INVALID_COMMIT_OFFSET_SIZE",
        29 => c"TOPIC_AUTHORIZATION_FAILED",
        30 => c"GROUP_AUTHORIZATION_FAILED",
        31 => c"CLUSTER_AUTHORIZATION_FAILED",
        32 => c"INVALID_TIMESTAMP",
        33 => c"UNSUPPORTED_SASL_MECHANISM",
        34 => c"ILLEGAL_SASL_STATE",
        35 => c"UNSUPPORTED_VERSION",
        36 => c"TOPIC_ALREADY_EXISTS",
        37 => c"INVALID_PARTITIONS",
        38 => c"INVALID_REPLICATION_FACTOR",
        39 => c"INVALID_REPLICA_ASSIGNMENT",
        40 => c"INVALID_CONFIG",
        41 => c"NOT_CONTROLLER",
        42 => c"INVALID_REQUEST",
        43 => c"UNSUPPORTED_FOR_MESSAGE_FORMAT",
        44 => c"POLICY_VIOLATION",
        45 => c"OUT_OF_ORDER_SEQUENCE_NUMBER",
        46 => c"DUPLICATE_SEQUENCE_NUMBER",
        47 => c"INVALID_PRODUCER_EPOCH",
        48 => c"INVALID_TXN_STATE",
        49 => c"INVALID_PRODUCER_ID_MAPPING",
        50 => c"INVALID_TRANSACTION_TIMEOUT",
        51 => c"CONCURRENT_TRANSACTIONS",
        52 => c"TRANSACTION_COORDINATOR_FENCED",
        53 => c"TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        54 => c"SECURITY_DISABLED",
        55 => c"OPERATION_NOT_ATTEMPTED",
        56 => c"KAFKA_STORAGE_ERROR",
        57 => c"LOG_DIR_NOT_FOUND",
        58 => c"SASL_AUTHENTICATION_FAILED",
        59 => c"UNKNOWN_PRODUCER_ID",
        60 => c"REASSIGNMENT_IN_PROGRESS",
        61 => c"DELEGATION_TOKEN_AUTH_DISABLED",
        62 => c"DELEGATION_TOKEN_NOT_FOUND",
        63 => c"DELEGATION_TOKEN_OWNER_MISMATCH",
        64 => c"DELEGATION_TOKEN_REQUEST_NOT_ALLOWED",
        65 => c"DELEGATION_TOKEN_AUTHORIZATION_FAILED",
        66 => c"DELEGATION_TOKEN_EXPIRED",
        67 => c"INVALID_PRINCIPAL_TYPE",
        68 => c"NON_EMPTY_GROUP",
        69 => c"GROUP_ID_NOT_FOUND",
        70 => c"FETCH_SESSION_ID_NOT_FOUND",
        71 => c"INVALID_FETCH_SESSION_EPOCH",
        72 => c"LISTENER_NOT_FOUND",
        73 => c"TOPIC_DELETION_DISABLED",
        74 => c"FENCED_LEADER_EPOCH",
        75 => c"UNKNOWN_LEADER_EPOCH",
        76 => c"UNSUPPORTED_COMPRESSION_TYPE",
        77 => c"STALE_BROKER_EPOCH",
        78 => c"OFFSET_NOT_AVAILABLE",
        79 => c"MEMBER_ID_REQUIRED",
        80 => c"PREFERRED_LEADER_NOT_AVAILABLE",
        81 => c"GROUP_MAX_SIZE_REACHED",
        82 => c"FENCED_INSTANCE_ID",
        83 => c"ELIGIBLE_LEADERS_NOT_AVAILABLE",
        84 => c"ELECTION_NOT_NEEDED",
        85 => c"NO_REASSIGNMENT_IN_PROGRESS",
        86 => c"GROUP_SUBSCRIBED_TO_TOPIC",
        87 => c"INVALID_RECORD",
        88 => c"UNSTABLE_OFFSET_COMMIT",
        89 => c"THROTTLING_QUOTA_EXCEEDED",
        90 => c"PRODUCER_FENCED",
        91 => c"RESOURCE_NOT_FOUND",
        92 => c"DUPLICATE_RESOURCE",
        93 => c"UNACCEPTABLE_CREDENTIAL",
        94 => c"INCONSISTENT_VOTER_SET",
        95 => c"INVALID_UPDATE_VERSION",
        96 => c"FEATURE_UPDATE_FAILED",
        97 => c"PRINCIPAL_DESERIALIZATION_FAILURE",
        98 => c"SNAPSHOT_NOT_FOUND",
        99 => c"POSITION_OUT_OF_RANGE",
        100 => c"UNKNOWN_TOPIC_ID",
        101 => c"DUPLICATE_BROKER_REGISTRATION",
        102 => c"BROKER_ID_NOT_REGISTERED",
        103 => c"INCONSISTENT_TOPIC_ID",
        104 => c"INCONSISTENT_CLUSTER_ID",
        105 => c"TRANSACTIONAL_ID_NOT_FOUND",
        106 => c"FETCH_SESSION_TOPIC_ID_ERROR",
        107 => c"INELIGIBLE_REPLICA",
        108 => c"NEW_LEADER_ELECTED",
        109 => c"OFFSET_MOVED_TO_TIERED_STORAGE",
        110 => c"FENCED_MEMBER_EPOCH",
        111 => c"UNRELEASED_INSTANCE_ID",
        112 => c"UNSUPPORTED_ASSIGNOR",
        113 => c"STALE_MEMBER_EPOCH",
        114 => c"MISMATCHED_ENDPOINT_TYPE",
        115 => c"UNSUPPORTED_ENDPOINT_TYPE",
        116 => c"UNKNOWN_CONTROLLER_ID",
        117 => c"UNKNOWN_SUBSCRIPTION_ID",
        118 => c"TELEMETRY_TOO_LARGE",
        119 => c"INVALID_REGISTRATION",
        120 => c"TRANSACTION_ABORTABLE",
        121 => c"INVALID_RECORD_STATE",
        122 => c"SHARE_SESSION_NOT_FOUND",
        123 => c"INVALID_SHARE_SESSION_EPOCH",
        124 => c"FENCED_STATE_EPOCH",
        125 => c"INVALID_VOTER_KEY",
        126 => c"DUPLICATE_VOTER",
        127 => c"VOTER_NOT_FOUND",
        128 => c"INVALID_REGULAR_EXPRESSION",
        129 => c"REBOOTSTRAP_REQUIRED",
        130 => c"STREAMS_INVALID_TOPOLOGY",
        131 => c"STREAMS_INVALID_TOPOLOGY_EPOCH",
        132 => c"STREAMS_TOPOLOGY_FENCED",
        133 => c"SHARE_SESSION_LIMIT_REACHED",
        134 => c"GROUP_DELETION_FAILED",
        135 => c"STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED",
        136 => c"CONTROLLER_ID_NOT_REGISTERED",
        _ => c"UNKNOWN_SERVER_ERROR",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_carries_the_hash_of_the_layout() {
        assert_eq!(
            KLOG_LAYOUT_HASH,
            layout_hash(),
            "set KLOG_LAYOUT_HASH to {}",
            layout_hash()
        );
        assert_eq!(
            klog_abi_check(KLOG_ABI, KLOG_LAYOUT_HASH, std::ptr::null_mut()),
            KLOG_OK
        );
        assert_eq!(
            klog_abi_check(KLOG_ABI, 1, std::ptr::null_mut()),
            KLOG_ERR_ABI
        );
    }

    #[test]
    fn names_are_static_texts() {
        // SAFETY: a static text.
        let of = |p| unsafe { CStr::from_ptr(p) }.to_str().unwrap();
        assert_eq!(of(klog_status_name(12)), "KLOG_ERR_STALE_HANDLE");
        assert_eq!(of(klog_status_name(0)), "KLOG_OK");
        assert_eq!(of(klog_status_name(77)), "KLOG_ERR_?");
        assert_eq!(of(klog_kafka_error_name(1)), "OFFSET_OUT_OF_RANGE");
        assert_eq!(of(klog_kafka_error_name(-1)), "UNKNOWN_SERVER_ERROR");
        assert_eq!(of(klog_version_string()), env!("CARGO_PKG_VERSION"));
        assert_eq!(klog_version_number(), 0x0100);
    }
}

//! Control records.

use klog::format::batch::Batch;
use klog::format::builder::{BatchBuilder, BatchOptions};
use klog::format::control::{self, ABORT, COMMIT, ControlBatch};
use klog::format::decoder::RecordDecoder;
use klog::types::{Offset, ProducerId, TimestampMs};
use klog::{ErrorKind, Result};

use super::Choices;

/// A key with its length, a value with its length, and the fields of a marker to be written.
pub(super) fn body(data: &[u8]) {
    let mut choices = Choices(data);
    let nullable = |choices: &mut Choices<'_>| {
        let len = usize::from(choices.u8());
        (len < 200).then(|| choices.bytes(len).to_vec())
    };
    let (key, value) = (nullable(&mut choices), nullable(&mut choices));
    let read = read_batch_of(&[(key.as_deref(), value.as_deref())]);
    match control::parse_key(key.as_deref()) {
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::InvalidRecord);
            assert!(read.is_err());
        }
        Ok(parsed) => {
            let marker = control::parse_end_marker(parsed, value.as_deref());
            match (parsed.control_type, marker) {
                (ABORT | COMMIT, Ok(marker)) => {
                    assert_eq!(marker.commit, parsed.control_type == COMMIT);
                    assert_eq!(read.unwrap(), ControlBatch::EndTxn(marker, TimestampMs(5)));
                }
                _ => assert_eq!(read.unwrap_err().kind(), ErrorKind::InvalidRecord),
            }
        }
    }
    // Only the first record counts.
    let more = read_batch_of(&[(key.as_deref(), value.as_deref()), (None, None)]);
    assert_eq!(
        more.is_ok(),
        read_batch_of(&[(key.as_deref(), value.as_deref())]).is_ok()
    );
    assert_eq!(read_batch_of(&[]).unwrap(), ControlBatch::Empty);

    let (commit, epoch) = (choices.u8() % 2 == 0, i32::from_be_bytes(choices.array()));
    let timestamp = TimestampMs(choices.i64() & i64::MAX);
    let options = BatchOptions {
        base_offset: Offset(choices.i64()),
        producer_id: ProducerId(choices.i64()),
        ..BatchOptions::default()
    };
    let mut builder = BatchBuilder::new();
    let bytes =
        control::write_end_marker(&mut builder, commit, epoch, timestamp, &options).unwrap();
    let batch = Batch::new(bytes).unwrap();
    batch.ensure_valid().unwrap();
    assert!(batch.header().attributes.is_control() && batch.header().attributes.is_transactional());
    let ControlBatch::EndTxn(marker, at) =
        control::read_control_batch(&batch, &mut RecordDecoder::new()).unwrap()
    else {
        panic!("a marker that was written is none");
    };
    assert_eq!(
        (marker.commit, marker.coordinator_epoch, at),
        (commit, epoch, timestamp)
    );
}

type KeyAndValue<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

fn read_batch_of(records: &[KeyAndValue<'_>]) -> Result<ControlBatch> {
    let mut builder = BatchBuilder::new();
    for (key, value) in records {
        builder
            .push(TimestampMs(5), *key, *value, [].into_iter())
            .unwrap();
    }
    let options = BatchOptions {
        control: true,
        producer_id: ProducerId(1),
        ..BatchOptions::default()
    };
    let bytes = builder.finish(&options).unwrap();
    control::read_control_batch(&Batch::new(bytes).unwrap(), &mut RecordDecoder::new())
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let seed = |key: &[u8], value: &[u8]| {
        let (key_len, value_len) = (
            u8::try_from(key.len()).unwrap(),
            u8::try_from(value.len()).unwrap(),
        );
        [
            &[key_len],
            key,
            &[value_len],
            value,
            &[1, 0, 0, 0, 12],
            &[0; 24],
        ]
        .concat()
    };
    vec![
        seed(&[0, 0, 0, 1], &[0, 0, 0, 0, 0, 12]),
        seed(&[0, 0, 0, 0], &[0, 0, 0, 0, 0, 12]),
        seed(&[0, 0, 0, 2], b"leader change"),
        seed(&[0, 3, 0, 1], &[0, 9, 0, 0, 0, 1, 7]),
        seed(&[255, 255, 0, 1], &[]),
        vec![255, 255],
    ]
}

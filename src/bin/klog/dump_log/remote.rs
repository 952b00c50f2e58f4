//! Records of `__remote_log_metadata`: segments in remote storage and what becomes of them, as Kafka's objects describe themselves.

use std::collections::BTreeMap;

use super::out::Out;
use super::parser::{Part, ensure_all_read, frame, unknown_metadata, unreadable};
use super::schema::{Bytes, Writer, skip_tags};
use super::stop::Thrown;

type Result<T> = std::result::Result<T, Thrown>;

/// The version of all of these records.
const VERSION: i16 = 0;
const ELEMENTS_MAX: i32 = 1_000_000;
const TEXT_BYTES_MAX: i32 = 32_767;

const SEGMENT_STATES: &[&str] = &[
    "COPY_SEGMENT_STARTED",
    "COPY_SEGMENT_FINISHED",
    "DELETE_SEGMENT_STARTED",
    "DELETE_SEGMENT_FINISHED",
];
const PARTITION_STATES: &[&str] = &[
    "DELETE_PARTITION_MARKED",
    "DELETE_PARTITION_STARTED",
    "DELETE_PARTITION_FINISHED",
];

/// Prints a record, or why it cannot be read.
pub(crate) fn print(out: &mut Out<'_>, offset: i64, value: Part<'_>) {
    match value
        .and_then(|value| value.ok_or_else(no_value))
        .and_then(read)
    {
        Ok(record) => record.print(out),
        Err(thrown) => {
            out.text("Error at offset ")
                .int(offset)
                .text(", skipping. ");
            out.text(thrown.message_or_null());
        }
    }
}

/// What Java says where there is no value.
fn no_value() -> Thrown {
    Thrown::new(
        "java.lang.NullPointerException",
        "Cannot invoke \"java.nio.ByteBuffer.remaining()\" because the return value of \"org.apache.kafka.common.record.internal.Record.value()\" is null",
    )
}

enum Record<'a> {
    Segment(SegmentId<'a>, Segment),
    Update {
        id: SegmentId<'a>,
        broker: i32,
        time: i64,
        custom_bytes: Option<usize>,
        state: &'static str,
    },
    Deletion {
        partition: Partition<'a>,
        broker: i32,
        time: i64,
        state: &'static str,
    },
    Snapshot([u8; 16], Segment),
}

struct Partition<'a> {
    topic: &'a [u8],
    topic_id: [u8; 16],
    number: i32,
}

struct SegmentId<'a> {
    partition: Partition<'a>,
    id: [u8; 16],
}

/// A segment, whichever way it is named.
struct Segment {
    start: i64,
    end: i64,
    broker: i32,
    max_time: i64,
    time: i64,
    epochs: BTreeMap<i32, i64>,
    size: i32,
    custom_bytes: Option<usize>,
    state: i8,
    has_no_transactions: bool,
}

fn read(value: &[u8]) -> Result<Record<'_>> {
    let mut bytes = Bytes::new(value);
    let (id, version) = frame(&mut bytes)?;
    let bytes = &mut bytes;
    // What is in the bytes is judged only when all of them could be read.
    let record = match id {
        0 => segment_id(bytes, version)
            .and_then(|id| Ok(Read::Segment(id, Segment::read(bytes, version)?))),
        1 => update(bytes, version),
        2 => deletion(bytes, version),
        3 => bytes
            .uuid()
            .and_then(|id| Ok(Read::Snapshot(id, Segment::read(bytes, version)?))),
        _ => return Err(unknown_metadata(id)),
    };
    let record = record.map_err(|_| unreadable(id))?;
    ensure_all_read(bytes.remaining(), id)?;
    record.judge()
}

/// A record as it was read.
enum Read<'a> {
    Segment(SegmentId<'a>, Segment),
    Update(SegmentId<'a>, i32, i64, Option<usize>, i8),
    Deletion(Partition<'a>, i32, i64, i8),
    Snapshot([u8; 16], Segment),
}

impl<'a> Read<'a> {
    fn judge(self) -> Result<Record<'a>> {
        Ok(match self {
            Self::Segment(id, segment) => {
                segment.ensure_offsets()?;
                segment.ensure_epochs()?;
                state(SEGMENT_STATES, segment.state)?;
                Record::Segment(id, segment)
            }
            Self::Update(id, broker, time, custom_bytes, found) => Record::Update {
                id,
                broker,
                time,
                custom_bytes,
                state: state(SEGMENT_STATES, found)?,
            },
            Self::Deletion(partition, broker, time, found) => Record::Deletion {
                partition,
                broker,
                time,
                state: state(PARTITION_STATES, found).map_err(|_| Thrown {
                    class: "java.lang.NullPointerException",
                    message: None,
                })?,
            },
            Self::Snapshot(id, segment) => {
                state(SEGMENT_STATES, segment.state)?;
                segment.ensure_epochs()?;
                Record::Snapshot(id, segment)
            }
        })
    }
}

fn state(states: &'static [&'static str], id: i8) -> Result<&'static str> {
    let known = usize::try_from(id).ok().and_then(|id| states.get(id));
    known
        .copied()
        .ok_or_else(|| Thrown::new("java.lang.NullPointerException", "state can not be null"))
}

fn update<'a>(bytes: &mut Bytes<'a>, version: i16) -> Result<Read<'a>> {
    let id = segment_id(bytes, version)?;
    let (broker, time) = (bytes.int32()?, bytes.int64()?);
    let custom_bytes = optional_len(bytes)?;
    let state = bytes.int8()?;
    skip_tags(bytes)?;
    Ok(Read::Update(id, broker, time, custom_bytes, state))
}

fn deletion<'a>(bytes: &mut Bytes<'a>, version: i16) -> Result<Read<'a>> {
    let partition = partition(bytes, version)?;
    let (broker, time) = (bytes.int32()?, bytes.int64()?);
    let state = bytes.int8()?;
    skip_tags(bytes)?;
    Ok(Read::Deletion(partition, broker, time, state))
}

fn segment_id<'a>(bytes: &mut Bytes<'a>, version: i16) -> Result<SegmentId<'a>> {
    let partition = partition(bytes, version)?;
    let id = bytes.uuid()?;
    skip_tags(bytes)?;
    Ok(SegmentId { partition, id })
}

fn partition<'a>(bytes: &mut Bytes<'a>, version: i16) -> Result<Partition<'a>> {
    ensure_known(version)?;
    let len = bytes.varint()?.wrapping_sub(1);
    if !(0..=TEXT_BYTES_MAX).contains(&len) {
        return Err(Thrown::runtime("the name of a topic is too long, or null"));
    }
    let topic = bytes.slice(len)?;
    let topic_id = bytes.uuid()?;
    let number = bytes.int32()?;
    skip_tags(bytes)?;
    Ok(Partition {
        topic,
        topic_id,
        number,
    })
}

fn ensure_known(version: i16) -> Result<()> {
    if version > VERSION {
        return Err(Thrown::runtime(format!("unknown version {version}")));
    }
    Ok(())
}

fn optional_len(bytes: &mut Bytes<'_>) -> Result<Option<usize>> {
    let len = bytes.varint()?.wrapping_sub(1);
    if len < 0 {
        return Ok(None);
    }
    bytes.slice(len).map(|bytes| Some(bytes.len()))
}

impl Segment {
    fn read(bytes: &mut Bytes<'_>, version: i16) -> Result<Self> {
        let mut segment = Self {
            start: bytes.int64()?,
            end: bytes.int64()?,
            broker: bytes.int32()?,
            max_time: bytes.int64()?,
            time: bytes.int64()?,
            epochs: epochs(bytes, version)?,
            size: bytes.int32()?,
            custom_bytes: optional_len(bytes)?,
            state: bytes.int8()?,
            has_no_transactions: false,
        };
        let tags = bytes.tag_count()?;
        for _ in 0..tags {
            let (tag, size) = (bytes.varint()?, bytes.varint()?);
            if tag == 0 {
                segment.has_no_transactions = bytes.int8()? != 0;
            } else {
                bytes.slice(size)?;
            }
        }
        Ok(segment)
    }

    fn ensure_offsets(&self) -> Result<()> {
        let (start, end) = (self.start, self.end);
        if start < 0 {
            return Err(Thrown::illegal_argument(format!(
                "Unexpected start offset = {start}. StartOffset for a remote segment cannot be negative"
            )));
        }
        if end < start {
            return Err(Thrown::illegal_argument(format!(
                "Unexpected end offset = {end}. EndOffset for a remote segment cannot be less than startOffset = {start}"
            )));
        }
        Ok(())
    }

    fn ensure_epochs(&self) -> Result<()> {
        if self.epochs.is_empty() {
            return Err(Thrown::illegal_argument(
                "segmentLeaderEpochs can not be null or empty",
            ));
        }
        Ok(())
    }

    fn print_tail(&self, out: &mut Out<'_>) {
        out.text(", segmentLeaderEpochs={");
        for (i, (&epoch, &start)) in self.epochs.iter().enumerate() {
            out.text(if i > 0 { ", " } else { "" });
            out.int(epoch).text("=").int(start);
        }
        out.text("}, segmentSizeInBytes=").int(self.size);
        print_custom(self.custom_bytes, out);
        let state = state(SEGMENT_STATES, self.state).unwrap_or("null");
        out.text(", state=").text(state);
        out.text(", txnIdxEmpty=")
            .bool(self.has_no_transactions)
            .text("}");
    }
}

fn epochs(bytes: &mut Bytes<'_>, version: i16) -> Result<BTreeMap<i32, i64>> {
    let count = bytes.varint()?.wrapping_sub(1);
    let fits = usize::try_from(count).is_ok_and(|count| count <= bytes.remaining());
    if !fits || count > ELEMENTS_MAX {
        return Err(Thrown::runtime("more leader epochs than there are bytes"));
    }
    let mut epochs = BTreeMap::new();
    for _ in 0..count {
        ensure_known(version)?;
        let (epoch, start) = (bytes.int32()?, bytes.int64()?);
        skip_tags(bytes)?;
        epochs.insert(epoch, start);
    }
    Ok(epochs)
}

impl Record<'_> {
    fn print(&self, out: &mut Out<'_>) {
        match self {
            Self::Segment(id, segment) => {
                out.text("RemoteLogSegmentMetadata{remoteLogSegmentId=");
                id.print(out);
                out.text(", startOffset=").int(segment.start);
                out.text(", endOffset=").int(segment.end);
                out.text(", brokerId=").int(segment.broker);
                out.text(", maxTimestampMs=").int(segment.max_time);
                out.text(", eventTimestampMs=").int(segment.time);
                segment.print_tail(out);
            }
            Self::Update {
                id,
                broker,
                time,
                custom_bytes,
                state,
            } => {
                out.text("RemoteLogSegmentMetadataUpdate{remoteLogSegmentId=");
                id.print(out);
                print_custom(*custom_bytes, out);
                out.text(", state=").text(state);
                out.text(", eventTimestampMs=").int(*time);
                out.text(", brokerId=").int(*broker).text("}");
            }
            Self::Deletion {
                partition,
                broker,
                time,
                state,
            } => {
                out.text("RemotePartitionDeleteMetadata{topicPartition=");
                partition.print(out);
                out.text(", state=").text(state);
                out.text(", eventTimestampMs=").int(*time);
                out.text(", brokerId=").int(*broker).text("}");
            }
            Self::Snapshot(id, segment) => {
                out.text("RemoteLogSegmentMetadataSnapshot{segmentId=");
                print_uuid(id, out);
                out.text(", startOffset=").int(segment.start);
                out.text(", endOffset=").int(segment.end);
                out.text(", maxTimestampMs=").int(segment.max_time);
                segment.print_tail(out);
            }
        }
    }
}

impl Partition<'_> {
    fn print(&self, out: &mut Out<'_>) {
        print_uuid(&self.topic_id, out);
        out.text(":");
        super::java::decode_utf8(self.topic, |piece| {
            out.bytes(piece);
        });
        out.text("-").int(self.number);
    }
}

impl SegmentId<'_> {
    fn print(&self, out: &mut Out<'_>) {
        out.text("RemoteLogSegmentId{topicIdPartition=");
        self.partition.print(out);
        out.text(", id=");
        print_uuid(&self.id, out);
        out.text("}");
    }
}

fn print_custom(custom_bytes: Option<usize>, out: &mut Out<'_>) {
    out.text(", customMetadata=");
    match custom_bytes {
        Some(bytes) => out
            .text("Optional[CustomMetadata{")
            .text(&bytes.to_string())
            .text(" bytes}]"),
        None => out.text("Optional.empty"),
    };
}

fn print_uuid(uuid: &[u8; 16], out: &mut Out<'_>) {
    Writer::new(out).bare_uuid(uuid);
}

//! What control records say.

use super::Dump;
use super::batches::{i16_at, i32_at};
use super::records::Shown;
use super::schema::{self, Message, raft};
use super::stop::{Result, Thrown};

impl Dump<'_> {
    /// Prints what is in a control record.
    pub(crate) fn control(&mut self, record: &Shown<'_>) -> Result<()> {
        let id = control_type(record.key)?;
        let value = || record.value.ok_or_else(null_pointer);
        match id {
            0 | 1 => {
                let value = value()?;
                let version = i16_at(value, 0).ok_or_else(Thrown::underflow)?;
                if version < 0 {
                    return Err(Thrown::invalid_record(format!(
                        "Invalid version found for end transaction marker: {version}. May indicate data corruption"
                    ))
                    .into());
                }
                let epoch = i32_at(value, 2).ok_or_else(Thrown::underflow)?;
                let out = &mut self.console.out;
                out.text(" endTxnMarker: ");
                out.text(if id == 0 { "ABORT" } else { "COMMIT" });
                out.text(" coordinatorEpoch: ").int(epoch);
                Ok(())
            }
            2 => self.raft(" LeaderChange: ", &raft::LEADER_CHANGE_MESSAGE, value()?),
            3 => self.raft(" SnapshotHeader ", &raft::SNAPSHOT_HEADER_RECORD, value()?),
            4 => self.raft(" SnapshotFooter ", &raft::SNAPSHOT_FOOTER_RECORD, value()?),
            5 => self.raft(" KRaftVersion ", &raft::K_RAFT_VERSION_RECORD, value()?),
            6 => self.raft(" KRaftVoters ", &raft::VOTERS_RECORD, value()?),
            _ => {
                let out = &mut self.console.out;
                out.text(" controlType: UNKNOWN(").int(id).text(")");
                Ok(())
            }
        }
    }

    /// These are read as version 0, and written as the version that they say they have.
    fn raft(&mut self, title: &str, message: &'static Message, value: &[u8]) -> Result<()> {
        let version = i16_at(value, 0).unwrap_or_default();
        schema::check(message, value, 0, version)?;
        let out = &mut self.console.out;
        out.text(title);
        schema::print(message, value, 0, version, out);
        Ok(())
    }
}

fn control_type(key: Option<&[u8]>) -> Result<i16> {
    let key = key.ok_or_else(null_pointer)?;
    let (Some(version), Some(id)) = (i16_at(key, 0), i16_at(key, 2)) else {
        return Err(Thrown::invalid_record(format!(
            "Invalid value size found for control record key. Must have at least 4 bytes, but found only {}",
            key.len()
        ))
        .into());
    };
    if version < 0 {
        return Err(Thrown::invalid_record(format!(
            "Invalid version found for control record: {version}. May indicate data corruption"
        ))
        .into());
    }
    Ok(id)
}

fn null_pointer() -> Thrown {
    Thrown {
        class: "java.lang.NullPointerException",
        message: None,
    }
}

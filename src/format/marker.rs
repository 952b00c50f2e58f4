//! `.kafka_cleanshutdown`: that it exists means that the directory was closed in order. Implements records.md 11.1.

/// Name of the file in a log directory.
pub const FILE: &str = ".kafka_cleanshutdown";

/// What a broker writes into it; -1 stands for "no broker epoch".
#[must_use]
pub fn write(broker_epoch: i64) -> Vec<u8> {
    format!("{{\"version\":0,\"brokerEpoch\":{broker_epoch}}}").into_bytes()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_golden_of_records_md_11_1() {
        assert_eq!(super::write(42), b"{\"version\":0,\"brokerEpoch\":42}");
        assert_eq!(super::write(42).len(), 30);
    }
}

//! `meta.properties` of a log directory: whose it is. Read here; written only when a caller asks for it. Implements
//! manager.md 1.6, records.md 11.2.

use super::uuid::Uuid;
use crate::config::parse_properties;
use std::fmt::Write as _;

use crate::error::{Error, ErrorKind, Result};

/// Name of the file in a log directory.
pub const FILE: &str = "meta.properties";

/// What the file says.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct MetaProperties {
    /// The cluster.
    pub cluster_id: Option<String>,
    /// The node: `node.id`, in version 0 `broker.id`.
    pub node_id: Option<i32>,
    /// The directory.
    pub directory_id: Option<Uuid>,
}

/// All properties as they stand, sorted by key.
pub fn properties(content: &[u8]) -> Result<Vec<(String, String)>> {
    let mut all = std::collections::BTreeMap::new();
    for property in parse_properties(content).map_err(|e| corrupt(e.message()))? {
        all.insert(property.key, property.value);
    }
    Ok(all.into_iter().collect())
}

/// Reads and checks the file.
pub fn parse(content: &[u8]) -> Result<MetaProperties> {
    let all = properties(content)?;
    let get = |key: &str| {
        all.iter()
            .find(|(k, _)| k == key)
            .map(|(_, value)| value.as_str())
    };
    let version = match get("version") {
        None => 0,
        Some(text) => text
            .parse()
            .map_err(|_| corrupt(&format!("Invalid meta.properties version string '{text}'")))?,
    };
    let node_key = match version {
        0 => "broker.id",
        1 => "node.id",
        other => {
            return Err(corrupt(&format!(
                "Unknown meta.properties version number {other}"
            )));
        }
    };
    let node_id = match get(node_key) {
        Some(text) => Some(text.parse().map_err(|_| {
            corrupt(&format!(
                "Unable to read {node_key} as a base-10 number: '{text}'"
            ))
        })?),
        None if version == 1 => return Err(corrupt("Failed to find node.id")),
        None => None,
    };
    let cluster_id = get("cluster.id").map(str::to_owned);
    if version == 1 && cluster_id.is_none() {
        return Err(corrupt("cluster.id was not found."));
    }
    let directory_id =
        match get("directory.id") {
            Some(text) => Some(Uuid::parse(text).map_err(|_| {
                corrupt(&format!("Unable to read directory.id as a Uuid: '{text}'"))
            })?),
            None => None,
        };
    Ok(MetaProperties {
        cluster_id,
        node_id,
        directory_id,
    })
}

/// The file of version 1, as Kafka's tools write it: keys in the order of their names, characters that properties give a
/// meaning escaped.
#[must_use]
pub fn write(cluster_id: &str, node_id: i32, directory_id: Uuid) -> Vec<u8> {
    let mut escaped = String::with_capacity(cluster_id.len());
    for c in cluster_id.chars() {
        match c {
            '\\' | ' ' | ':' | '=' | '#' | '!' => {
                escaped.push('\\');
                escaped.push(c);
            }
            ' '..='~' => escaped.push(c),
            _ => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    let _ = write!(escaped, "\\u{unit:04X}");
                }
            }
        }
    }
    format!("#\ncluster.id={escaped}\ndirectory.id={directory_id}\nnode.id={node_id}\nversion=1\n")
        .into_bytes()
}

fn corrupt(what: &str) -> Error {
    Error::new(ErrorKind::CorruptState, format!("{FILE}: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_golden_of_records_md_11_2_is_read() {
        let meta = parse(
            b"#\n#Mon Nov 30 02:52:59 UTC 2026\nnode.id=1\ndirectory.id=Ehx7oGy6RYuFZd6eHiM37g\nversion=1\n\
              cluster.id=JgxuGe9URy-E-ceaL04lEw\n",
        )
        .unwrap();
        assert_eq!(meta.node_id, Some(1));
        assert_eq!(meta.cluster_id.as_deref(), Some("JgxuGe9URy-E-ceaL04lEw"));
        assert_eq!(
            meta.directory_id.unwrap().to_string(),
            "Ehx7oGy6RYuFZd6eHiM37g"
        );
    }

    #[test]
    fn what_is_written_is_read_back() {
        for cluster_id in [
            "JgxuGe9URy-E-ceaL04lEw",
            "a b=c:#!",
            "\\\u{fc}\u{20ac}\u{1f600}\n",
            "",
        ] {
            let id = Uuid([7; 16]);
            let meta = parse(&write(cluster_id, 3, id)).unwrap();
            assert_eq!(meta.cluster_id.as_deref(), Some(cluster_id));
            assert_eq!((meta.node_id, meta.directory_id), (Some(3), Some(id)));
        }
    }

    #[test]
    fn manager_md_1_6_versions_and_their_keys() {
        assert_eq!(parse(b"version=0\nbroker.id=7\n").unwrap().node_id, Some(7));
        assert_eq!(parse(b"").unwrap(), MetaProperties::default());
        for (content, text) in [
            ("version=2\n", "Unknown meta.properties version number 2"),
            ("version=x\n", "Invalid meta.properties version string"),
            ("version=1\ncluster.id=c\n", "Failed to find node.id"),
            (
                "version=1\nnode.id=x\ncluster.id=c\n",
                "as a base-10 number",
            ),
            ("version=1\nnode.id=1\n", "cluster.id was not found."),
            ("directory.id=x\n", "Unable to read directory.id as a Uuid"),
        ] {
            let error = parse(content.as_bytes()).unwrap_err();
            assert!(error.message().contains(text), "{error}");
        }
    }
}

//! From the command line to a configuration.

use std::sync::Arc;

use klog::config::{ConfigSet, Resolved};
use klog::error::{Error, ErrorKind};
use klog::io::{RealFs, read_file};
use klog::types::TopicPartition;

use super::Failure;
use super::args::ConfigArgs;

/// The configuration that files and pairs make; pairs come after files. What is odd about it is said here, with the
/// file's name where there is one.
pub(crate) fn resolve(
    args: &ConfigArgs,
    named: Option<&TopicPartition>,
) -> Result<Arc<Resolved>, Failure> {
    resolve_in(ConfigSet::broker(), args, named)
}

/// The same for a look-up, which decompresses records of no more than this unless it is told to.
pub(crate) fn resolve_for_lookup(
    args: &ConfigArgs,
    named: Option<&TopicPartition>,
) -> Result<Arc<Resolved>, Failure> {
    let mut set = ConfigSet::broker();
    set.set("max.decompressed.message.bytes", "16777216")
        .map_err(Failure::Usage)?;
    resolve_in(set, args, named)
}

fn resolve_in(
    mut set: ConfigSet,
    args: &ConfigArgs,
    named: Option<&TopicPartition>,
) -> Result<Arc<Resolved>, Failure> {
    for path in &args.properties {
        let content = read_file(&RealFs, path)?.ok_or_else(|| {
            Error::new(
                ErrorKind::KafkaStorage,
                format!("the properties file {} does not exist", path.display()),
            )
        })?;
        let warnings = set
            .load_properties(&content)
            .map_err(|e| e.context(path.display()))?;
        for warning in warnings {
            eprintln!("klog: {}: {warning}", path.display());
        }
    }
    for pair in &args.pairs {
        apply(&mut set, pair, named).map_err(Failure::Usage)?;
    }
    for warning in set
        .warnings()
        .iter()
        .filter(|warning| warning.line.is_none())
    {
        eprintln!("klog: {warning}");
    }
    Ok(Arc::new(set.resolve().map_err(Failure::Usage)?))
}

fn apply(set: &mut ConfigSet, pair: &str, named: Option<&TopicPartition>) -> Result<(), Error> {
    let (key, value) = pair.split_once('=').ok_or_else(|| {
        Error::invalid_argument(format!(
            "--config {pair}: expected KEY=VALUE or TOPIC:KEY=VALUE"
        ))
    })?;
    if let Some((topic, key)) = key.split_once(':') {
        return set.set_topic(topic, key, value);
    }
    match (set.set(key, value), named) {
        (Err(e), Some(partition)) if e.kind() == ErrorKind::UnknownConfig => {
            set.set_topic(&partition.topic, key, value)
        }
        (answer, _) => answer,
    }
}

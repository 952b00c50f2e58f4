//! `klog adopt`.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use klog::error::Result;
use klog::log::{Finding, FindingKind};
use klog::manager::{Adopted, Manager, ManagerOptions};
use klog::types::TopicPartition;

use super::args::BrokerArgs;
use super::{Failure, config_args, output_error, progress, tell};

/// Hands a log over and prints a line about it.
pub(crate) fn adopt(
    source: &Path,
    broker: &BrokerArgs,
    partition: &TopicPartition,
) -> std::result::Result<ExitCode, Failure> {
    let config = config_args::resolve(&broker.config, Some(partition))?;
    let options = |dir: &Path| ManagerOptions::new(vec![dir.to_path_buf()], config.clone());
    let (adopted, findings) = progress::show("adopting", || {
        apply(options(source), options(&broker.dir), partition)
    })?;
    // A log that does not load may be there in either; the one that was asked for was handed over.
    tell(&findings);
    if findings.iter().any(|f| f.kind == FindingKind::Failed) {
        eprintln!("klog: {partition}: handed over all the same");
    }
    writeln!(
        std::io::stdout(),
        "adopted {partition} start={} end={}",
        adopted.log_start,
        adopted.log_end
    )
    .map_err(|e| output_error(&e))?;
    Ok(ExitCode::SUCCESS)
}

fn apply(
    source: ManagerOptions,
    broker: ManagerOptions,
    partition: &TopicPartition,
) -> Result<(Adopted, Vec<Finding>)> {
    // First, as it is the one that may be in use.
    let broker = Manager::open(broker)?;
    let done = Manager::open(source).and_then(|source| {
        let adopted = broker.adopt(&source, partition);
        let closed = source.close();
        let mut findings = source.report().to_vec();
        findings.extend_from_slice(broker.report());
        let adopted = adopted?;
        closed.map(|()| (adopted, findings))
    });
    let closed = broker.close();
    let done = done?;
    closed.map(|()| done)
}

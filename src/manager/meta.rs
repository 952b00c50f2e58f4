//! Writing a directory's `meta.properties`, which nothing does unless it is asked to. Implements manager.md 1.6, c-abi.md 3.2.12.

use std::path::Path;

use super::Manager;
use super::dirs::contradiction;
use crate::error::{Error, Result};
use crate::format::meta_properties::{self, MetaProperties};
use crate::format::uuid::Uuid;
use crate::io::{exists, replace_file};

impl Manager {
    /// Says whose a directory is, so that a broker of that cluster takes it for its own: version 1, with a random directory id
    /// if none is given. A file that says the same stays, also if no directory id is given; one that says something else
    /// is INVALID_ARGUMENT, as is what contradicts another directory of this manager.
    pub fn create_meta(
        &self,
        dir: &Path,
        cluster_id: &str,
        node_id: i32,
        directory_id: Option<Uuid>,
    ) -> Result<()> {
        let _one_at_a_time = self.reconfiguring.lock();
        let _not_behind_a_close = self.swapping.read();
        self.check_open()?;
        self.check_owned()?;
        if node_id < 0 || cluster_id.is_empty() {
            return Err(Error::invalid_argument(format!(
                "cluster.id {cluster_id:?} and node.id {node_id}: a cluster has a name, a node a number of at least 0"
            )));
        }
        if let Some(id) = directory_id.filter(|id| id.is_reserved()) {
            return Err(Error::invalid_argument(format!(
                "the directory.id {id} is one that Kafka keeps for itself"
            )));
        }
        let dir = self.dir_named(dir)?;
        dir.health.check()?;
        let path = dir.path.join(meta_properties::FILE);
        let wanted = MetaProperties {
            cluster_id: Some(cluster_id.to_owned()),
            node_id: Some(node_id),
            directory_id,
        };
        let refuse = |what: String| Err(Error::invalid_argument(what).in_file(&path));
        let mut own = dir.meta.write();
        if exists(&*self.fs, &path).map_err(|e| dir.health.judge(e))? {
            let is_same = own.cluster_id == wanted.cluster_id
                && own.node_id == wanted.node_id
                && (directory_id.is_none() || own.directory_id == directory_id);
            if is_same {
                return Ok(());
            }
            return refuse(format!(
                "{} says something else, and is not touched; remove it first",
                path.display()
            ));
        }
        for other in self.dirs.iter().filter(|other| other.path != dir.path) {
            if let Some(what) = contradiction(&wanted, &other.meta.read()) {
                return refuse(format!(
                    "the {what} would contradict that of {}",
                    other.path.display()
                ));
            }
        }
        let id = match directory_id {
            Some(id) => id,
            None => Uuid::random()?,
        };
        replace_file(
            &*self.fs,
            &path,
            &meta_properties::write(cluster_id, node_id, id),
        )
        .map_err(|e| dir.health.judge(e))?;
        *own = MetaProperties {
            directory_id: Some(id),
            ..wanted
        };
        Ok(())
    }
}

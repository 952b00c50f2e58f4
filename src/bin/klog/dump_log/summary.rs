//! What was found wrong, which is told when all files are done. Kafka keeps it in hash tables: their order is the order here.

use std::collections::BTreeMap;

use super::file_name::FileName;
use super::java::hash_order;
use super::out::Out;

/// Findings of all files.
#[derive(Default)]
pub(crate) struct Summary {
    /// Index entries whose batch ends elsewhere, the last first.
    pub(crate) index_mismatches: PerFile<BTreeMap<i64, i64>>,
    pub(crate) time_mismatches: PerFile<Vec<(i64, i64)>>,
    pub(crate) out_of_order: PerFile<Vec<(i64, i64)>>,
    pub(crate) not_found: PerFile<Vec<(i64, i64)>>,
    /// Offsets that do not follow each other.
    pub(crate) gaps: PerFile<BTreeMap<i64, i64>>,
}

/// What was found in each file, by its absolute path.
pub(crate) struct PerFile<T> {
    names: Vec<String>,
    found: Vec<T>,
}

impl<T> Default for PerFile<T> {
    fn default() -> Self {
        Self {
            names: Vec::new(),
            found: Vec::new(),
        }
    }
}

impl<T: Default> PerFile<T> {
    pub(crate) fn of(&mut self, file: &FileName) -> &mut T {
        let name = file.absolute();
        let at = self.names.iter().position(|known| *known == name);
        let at = at.unwrap_or_else(|| {
            self.names.push(name);
            self.found.push(T::default());
            self.found.len() - 1
        });
        &mut self.found[at]
    }

    fn in_order(&self) -> impl Iterator<Item = (&String, &T)> {
        hash_order(&self.names)
            .into_iter()
            .map(|i| (&self.names[i], &self.found[i]))
    }
}

impl Summary {
    pub(crate) fn print(&self, err: &mut Out<'_>) {
        for (name, found) in self.index_mismatches.in_order() {
            err.text("Mismatches in :").text(name).line_end();
            for (&index, &log) in found.iter().rev() {
                err.text("  Index offset: ").int(index);
                err.text(", log offset: ").int(log).line_end();
            }
        }
        for (name, found) in self.time_mismatches.in_order() {
            err.text("Found timestamp mismatch in :")
                .text(name)
                .line_end();
            for &(index, log) in found {
                err.text("  Index timestamp: ").int(index);
                err.text(", log timestamp: ").int(log).line_end();
            }
        }
        for (name, found) in self.out_of_order.in_order() {
            err.text("Found out of order timestamp in :")
                .text(name)
                .line_end();
            for &(index, before) in found {
                err.text("  Index timestamp: ").int(index);
                err.text(", Previously indexed timestamp: ")
                    .int(before)
                    .line_end();
            }
        }
        for (name, found) in self.not_found.in_order() {
            err.text("The following indexed offsets are not found in :")
                .text(name)
                .line_end();
            for &(index, log) in found {
                err.text("Indexed offset: ").int(index);
                err.text(", found log offset: ").int(log).line_end();
            }
        }
        for (name, found) in self.gaps.in_order() {
            err.text("Non-consecutive offsets in ")
                .text(name)
                .line_end();
            for (&before, &after) in found {
                err.text("  ").int(before);
                err.text(" is followed by ").int(after).line_end();
            }
        }
    }
}

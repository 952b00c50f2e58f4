//! What was found wrong, which is told when all files are done. Kafka keeps it in hash tables: their order is the order here.

use super::file_name::FileName;
use super::java::hash_order;
use super::out::Out;
use super::pairs::{Order, Pairs};
use super::stop::Result;

/// Findings of all files.
pub(crate) struct Summary {
    /// Index entries whose batch ends elsewhere, the last first.
    pub(crate) index_mismatches: PerFile,
    pub(crate) time_mismatches: PerFile,
    pub(crate) out_of_order: PerFile,
    pub(crate) not_found: PerFile,
    /// Offsets that do not follow each other.
    pub(crate) gaps: PerFile,
}

/// What was found in each file, by its absolute path.
pub(crate) struct PerFile {
    order: Order,
    names: Vec<String>,
    found: Vec<Pairs>,
}

impl Default for Summary {
    fn default() -> Self {
        Self {
            index_mismatches: PerFile::new(Order::Falling),
            time_mismatches: PerFile::new(Order::AsFound),
            out_of_order: PerFile::new(Order::AsFound),
            not_found: PerFile::new(Order::AsFound),
            gaps: PerFile::new(Order::Rising),
        }
    }
}

impl PerFile {
    fn new(order: Order) -> Self {
        Self {
            order,
            names: Vec::new(),
            found: Vec::new(),
        }
    }

    pub(crate) fn of(&mut self, file: &FileName) -> Result<&mut Pairs> {
        let name = file.absolute();
        let at = self.names.iter().position(|known| *known == name);
        let at = if let Some(at) = at {
            at
        } else {
            if let Some(before) = self.found.last_mut() {
                before.rest()?;
            }
            self.names.push(name);
            self.found.push(Pairs::new(self.order));
            self.found.len() - 1
        };
        Ok(&mut self.found[at])
    }

    /// Prints a line for each file, and one for each pair below it.
    fn print(&mut self, err: &mut Out<'_>, title: &str, before: &str, between: &str) -> Result<()> {
        for i in hash_order(&self.names) {
            err.text(title).text(&self.names[i]).line_end();
            self.found[i].each(|first, second| {
                err.text(before).int(first);
                err.text(between).int(second).line_end();
            })?;
        }
        Ok(())
    }
}

impl Summary {
    pub(crate) fn print(&mut self, err: &mut Out<'_>) -> Result<()> {
        let (title, before, between) = ("Mismatches in :", "  Index offset: ", ", log offset: ");
        self.index_mismatches.print(err, title, before, between)?;
        let title = "Found timestamp mismatch in :";
        let (before, between) = ("  Index timestamp: ", ", log timestamp: ");
        self.time_mismatches.print(err, title, before, between)?;
        let title = "Found out of order timestamp in :";
        let between = ", Previously indexed timestamp: ";
        self.out_of_order.print(err, title, before, between)?;
        let title = "The following indexed offsets are not found in :";
        let (before, between) = ("Indexed offset: ", ", found log offset: ");
        self.not_found.print(err, title, before, between)?;
        let (title, between) = ("Non-consecutive offsets in ", " is followed by ");
        self.gaps.print(err, title, "  ", between)
    }
}

//! Which directory a new log is made in. Implements manager.md 3.3.

/// What counts of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    /// The logs in it, and the copies on their way to it.
    pub(super) logs: usize,
    /// Whether it works.
    pub(super) is_live: bool,
    /// Whether it is to get no new log.
    pub(super) is_cordoned: bool,
}

/// The directories to try, by their place in the list: those with the fewest logs first, of two alike the earlier one. Where
/// only cordoned ones are left, the first of them.
#[must_use]
pub(super) fn by_preference(candidates: &[Candidate]) -> Vec<usize> {
    let live = || {
        let all = candidates.iter().enumerate();
        all.filter(|(_, candidate)| candidate.is_live)
    };
    let mut open: Vec<(usize, &Candidate)> = live()
        .filter(|(_, candidate)| !candidate.is_cordoned)
        .collect();
    if open.is_empty() {
        return live().map(|(at, _)| at).take(1).collect();
    }
    open.sort_by_key(|(_, candidate)| candidate.logs);
    open.into_iter().map(|(at, _)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(candidates: &[(usize, bool, bool)]) -> Vec<usize> {
        let candidates: Vec<_> = candidates
            .iter()
            .map(|&(logs, is_live, is_cordoned)| Candidate {
                logs,
                is_live,
                is_cordoned,
            })
            .collect();
        by_preference(&candidates)
    }

    #[test]
    fn manager_md_3_3_the_fewest_logs_and_the_first_of_those_alike() {
        assert_eq!(
            order(&[
                (3, true, false),
                (1, true, false),
                (1, true, false),
                (0, false, false)
            ]),
            [1, 2, 0]
        );
    }

    #[test]
    fn manager_md_3_3_cordoned_directories_get_nothing_unless_all_are() {
        assert_eq!(order(&[(0, true, true), (9, true, false)]), [1]);
        assert_eq!(
            order(&[(0, false, false), (5, true, true), (0, true, true)]),
            [1]
        );
        assert_eq!(order(&[(0, false, false)]), [0usize; 0]);
    }
}

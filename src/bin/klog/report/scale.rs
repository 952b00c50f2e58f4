//! Where the ticks of an axis lie, and what they say. Pure functions.
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a plot has a few hundred places"
)]

use crate::units::{self, DAY_MS};

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;

/// A mark of an axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    /// Where, in the units of the data.
    pub(crate) at: f64,
    /// What stands there.
    pub(crate) label: String,
}

/// Ticks from 0 to at least `max` in steps of 1, 2 or 5 by a power of ten: at most `most` steps.
pub(crate) fn of_counts(max: f64, most: usize) -> Vec<Tick> {
    let step = decimal_step(max.max(1.0) / most as f64).max(1.0);
    up_to(max, step, |at| short(at, step, max))
}

/// Ticks from 0 to at least `max` bytes, in steps that are powers of two.
pub(crate) fn of_bytes(max: f64, most: usize) -> Vec<Tick> {
    let mut step = 1.0;
    while max > step * most as f64 {
        step *= 2.0;
    }
    up_to(max, step, binary)
}

fn up_to(max: f64, step: f64, label: impl Fn(f64) -> String) -> Vec<Tick> {
    let steps = (max / step).ceil().max(1.0) as u32;
    (0..=steps)
        .map(|i| f64::from(i) * step)
        .map(|at| Tick {
            at,
            label: label(at),
        })
        .collect()
}

/// Ticks between two offsets: those inside.
pub(crate) fn of_offsets(from: f64, to: f64, most: usize) -> Vec<Tick> {
    let step = decimal_step((to - from).max(1.0) / most as f64).max(1.0);
    let first = (from / step).ceil();
    (0..=most)
        .map(|i| (first + i as f64) * step)
        .take_while(|at| *at <= to)
        .map(|at| Tick {
            at,
            label: short(at, step, to),
        })
        .collect()
}

/// Ticks at powers of two, `from` to `to`, of which at most `most` have a label.
pub(crate) fn of_powers(from: u32, to: u32, most: usize) -> Vec<Tick> {
    let every = (to.saturating_sub(from) as usize)
        .div_ceil(most.max(1))
        .max(1);
    (from..=to)
        .step_by(every)
        .map(|power| Tick {
            at: f64::from(power),
            label: binary(f64::from(power).exp2()),
        })
        .collect()
}

/// Ticks between two moments, at full minutes, hours, days, months or years of UTC.
pub(crate) fn of_times(from_ms: i64, to_ms: i64, most: usize) -> Vec<Tick> {
    const STEPS_MS: [i64; 14] = [
        MINUTE_MS,
        2 * MINUTE_MS,
        5 * MINUTE_MS,
        10 * MINUTE_MS,
        15 * MINUTE_MS,
        30 * MINUTE_MS,
        HOUR_MS,
        2 * HOUR_MS,
        3 * HOUR_MS,
        6 * HOUR_MS,
        12 * HOUR_MS,
        DAY_MS,
        2 * DAY_MS,
        7 * DAY_MS,
    ];
    let span = to_ms.saturating_sub(from_ms);
    let most_steps = i64::try_from(most).unwrap_or(1).max(1);
    let step = STEPS_MS.into_iter().find(|step| span / step <= most_steps);
    let Some(step) = step else {
        return of_months(from_ms, to_ms, most_steps);
    };
    let mut ticks = Vec::new();
    let mut at = from_ms
        .saturating_add(step - 1)
        .div_euclid(step)
        .saturating_mul(step);
    while at <= to_ms {
        let label = if step < DAY_MS && at.rem_euclid(DAY_MS) != 0 {
            units::clock(at)
        } else {
            day_label(at)
        };
        ticks.push(Tick {
            at: at as f64,
            label,
        });
        let Some(next) = at.checked_add(step) else {
            break;
        };
        at = next;
    }
    ticks
}

fn of_months(from_ms: i64, to_ms: i64, most: i64) -> Vec<Tick> {
    let month_of = |ms: i64| {
        let (year, month, _) = units::civil(ms.div_euclid(DAY_MS));
        year * 12 + month - 1
    };
    let (first, last) = (month_of(from_ms), month_of(to_ms));
    let mut step = 1;
    for next in [1, 2, 3, 6, 12]
        .into_iter()
        .chain((1..12).flat_map(|power| {
            let years = 12 * 10_i64.pow(power);
            [years / 5, years / 2, years]
        }))
    {
        step = next;
        if (last - first) / step <= most {
            break;
        }
    }
    let mut ticks = Vec::new();
    let mut month = (first + step - 1).div_euclid(step) * step;
    while month <= last {
        let (year, of_year) = (month.div_euclid(12), month.rem_euclid(12) + 1);
        let at = units::days_of(year, of_year, 1).saturating_mul(DAY_MS);
        if at >= from_ms {
            ticks.push(Tick {
                at: at as f64,
                label: if step % 12 == 0 {
                    year.to_string()
                } else {
                    format!("{year:04}-{of_year:02}")
                },
            });
        }
        month += step;
    }
    ticks
}

fn day_label(ms: i64) -> String {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let (_, month, day) = units::civil(ms.div_euclid(DAY_MS));
    let name = usize::try_from(month - 1).ok().and_then(|i| MONTHS.get(i));
    format!("{} {day}", name.unwrap_or(&""))
}

/// The smallest of 1, 2 and 5 by a power of ten that is not below `least`.
fn decimal_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.max(f64::MIN_POSITIVE).log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        // What was computed may be off by a little.
        .find(|step| *step >= least * 0.999_999)
        .unwrap_or(10.0 * power)
}

/// A count in as few digits as tell its ticks apart, on an axis that ends at `max`.
fn short(at: f64, step: f64, max: f64) -> String {
    for (unit, name) in [
        (1e15, " P"),
        (1e12, " T"),
        (1e9, " G"),
        (1e6, " M"),
        (1e3, " k"),
    ] {
        let is_exact = step >= unit || (step >= unit / 10.0 && max < unit * 1000.0);
        if at >= unit && is_exact {
            let value = at / unit;
            return if (value - value.round()).abs() < 1e-6 {
                format!("{}{name}", units::signed(value.round() as i64))
            } else {
                format!("{value:.1}{name}")
            };
        }
    }
    units::signed(at.round() as i64)
}

/// A size without digits that are 0: `512 KiB`, `1.5 MiB`.
fn binary(at: f64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = at;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ticks: &[Tick]) -> Vec<&str> {
        ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn counts_are_split_at_round_numbers() {
        assert_eq!(labels(&of_counts(0.0, 4)), ["0", "1"]);
        assert_eq!(labels(&of_counts(3.0, 4)), ["0", "1", "2", "3"]);
        assert_eq!(labels(&of_counts(10.0, 4)), ["0", "5", "10"]);
        assert_eq!(
            labels(&of_counts(1700.0, 4)),
            ["0", "500", "1 k", "1.5 k", "2 k"]
        );
        assert_eq!(
            labels(&of_counts(7e6, 4)),
            ["0", "2 M", "4 M", "6 M", "8 M"]
        );
        for max in [1.0, 9.0, 99.0, 12_345.0, 4e18] {
            let ticks = of_counts(max, 4);
            assert!(
                ticks.len() <= 6 && ticks.last().unwrap().at >= max,
                "{ticks:?}"
            );
        }
    }

    #[test]
    fn bytes_are_split_at_powers_of_two() {
        assert_eq!(labels(&of_bytes(0.0, 4)), ["0 B", "1 B"]);
        assert_eq!(
            labels(&of_bytes(1000.0, 4)),
            ["0 B", "256 B", "512 B", "768 B", "1 KiB"]
        );
        assert_eq!(
            labels(&of_bytes(1_600_000.0, 4)),
            ["0 B", "512 KiB", "1 MiB", "1.5 MiB", "2 MiB"]
        );
        for max in [1.0, 1e9, 1.8e19] {
            let ticks = of_bytes(max, 4);
            assert!(
                ticks.len() <= 6 && ticks.last().unwrap().at >= max,
                "{ticks:?}"
            );
        }
    }

    #[test]
    fn offsets_are_told_apart_where_they_are_large() {
        assert_eq!(
            labels(&of_offsets(0.0, 1000.0, 5)),
            ["0", "200", "400", "600", "800", "1 k"]
        );
        assert_eq!(
            labels(&of_offsets(12_345_100.0, 12_345_900.0, 4)),
            ["12,345,200", "12,345,400", "12,345,600", "12,345,800"]
        );
        assert!(of_offsets(9.2e18, 9.3e18, 5).len() <= 6);
    }

    #[test]
    fn powers_have_as_many_labels_as_fit() {
        assert_eq!(
            labels(&of_powers(6, 9, 6)),
            ["64 B", "128 B", "256 B", "512 B"]
        );
        assert_eq!(
            labels(&of_powers(0, 20, 5)),
            ["1 B", "16 B", "256 B", "4 KiB", "64 KiB", "1 MiB"]
        );
    }

    #[test]
    fn times_are_split_where_people_split_them() {
        let at = |y, m, d, minute: i64| units::days_of(y, m, d) * DAY_MS + minute * MINUTE_MS;
        assert_eq!(
            labels(&of_times(at(2026, 1, 5, 7), at(2026, 1, 5, 25), 5)),
            ["00:10", "00:15", "00:20", "00:25"]
        );
        assert_eq!(
            labels(&of_times(at(2026, 1, 5, 600), at(2026, 1, 6, 720), 5)),
            ["12:00", "18:00", "Jan 6", "06:00", "12:00"]
        );
        assert_eq!(
            labels(&of_times(at(2026, 2, 26, 0), at(2026, 3, 2, 0), 5)),
            ["Feb 26", "Feb 27", "Feb 28", "Mar 1", "Mar 2"]
        );
        assert_eq!(
            labels(&of_times(at(2025, 11, 20, 0), at(2026, 3, 2, 0), 5)),
            ["2025-12", "2026-01", "2026-02", "2026-03"]
        );
        assert_eq!(
            labels(&of_times(at(2011, 11, 20, 0), at(2026, 3, 2, 0), 5)),
            ["2015", "2020", "2025"]
        );
        for (from, to) in [(i64::MIN, i64::MAX), (0, i64::MAX), (5, 5), (-1, 1)] {
            assert!(of_times(from, to, 5).len() <= 8);
        }
    }
}

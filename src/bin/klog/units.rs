//! Numbers with their units, as people write them.
#![allow(
    clippy::cast_precision_loss,
    reason = "two or three digits are shown of what is rounded"
)]

/// Milliseconds of a day.
pub(crate) const DAY_MS: i64 = 86_400_000;
/// From here on years have five digits.
const YEAR_10000_MS: i64 = 253_402_300_800_000;

const BYTES: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/// A size with three digits: `1.46 GiB`.
pub(crate) fn bytes(n: u64) -> String {
    let mut value = n as f64;
    let mut unit = 0;
    // What would be rounded to 1024 is one of the next unit.
    while value >= 1023.5 && unit + 1 < BYTES.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = match value {
        _ if unit == 0 => 0,
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {}", BYTES[unit])
}

/// A number with commas: `1,234,567`.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The same for a number that may be below 0.
pub(crate) fn signed(n: i64) -> String {
    let sign = if n < 0 { "-" } else { "" };
    format!("{sign}{}", count(n.unsigned_abs()))
}

/// `1 segment`, `2 segments`.
pub(crate) fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// A share of a whole: `12.3 %`.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    format!("{:.1} %", part as f64 * 100.0 / whole as f64)
}

/// How many times `part` goes into `whole`: above 1 if compression outweighs what batches say besides.
pub(crate) fn ratio(whole: u64, part: u64) -> f64 {
    whole as f64 / part.max(1) as f64
}

/// A span of time by its two largest units: `3 d 4 h`.
pub(crate) fn duration(ms: u64) -> String {
    const UNITS: [(u64, &str); 5] = [
        (365 * 86_400_000, "a"),
        (86_400_000, "d"),
        (3_600_000, "h"),
        (60_000, "min"),
        (1000, "s"),
    ];
    let Some(first) = UNITS.iter().position(|(unit, _)| ms >= *unit) else {
        return format!("{ms} ms");
    };
    let (unit, name) = UNITS[first];
    let rest = UNITS
        .get(first + 1)
        .map(|(next, name)| (ms % unit / next, name))
        .filter(|(n, _)| *n > 0);
    match rest {
        Some((n, next)) => format!("{} {name} {n} {next}", count(ms / unit)),
        None => format!("{} {name}", count(ms / unit)),
    }
}

/// A moment to the minute; as a number where years have no four digits.
pub(crate) fn time(ms: i64) -> String {
    if !(0..YEAR_10000_MS).contains(&ms) {
        return format!("{ms} ms");
    }
    format!("{} {} UTC", date(ms), clock(ms))
}

/// A day as people write it; as a number where years have no four digits.
pub(crate) fn date(ms: i64) -> String {
    if !(0..YEAR_10000_MS).contains(&ms) {
        return ms.to_string();
    }
    let (year, month, day) = civil(ms.div_euclid(DAY_MS));
    format!("{year:04}-{month:02}-{day:02}")
}

/// The time of day.
pub(crate) fn clock(ms: i64) -> String {
    let minutes = ms.rem_euclid(DAY_MS) / 60_000;
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

/// Year, month and day of a number of days since 1970, in the Gregorian calendar. Counted from a first of March, behind which
/// leap days lie.
pub(crate) fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// Days since 1970 of a date: the other way round.
pub(crate) fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_three_digits_and_a_unit() {
        for (n, text) in [
            (0, "0 B"),
            (1, "1 B"),
            (1023, "1023 B"),
            (1024, "1.00 KiB"),
            (1536, "1.50 KiB"),
            (10 * 1024, "10.0 KiB"),
            (1_048_575, "1.00 MiB"),
            (123 << 20, "123 MiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(bytes(n), text);
        }
    }

    #[test]
    fn counts_have_commas() {
        for (n, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(count(n), text);
        }
        assert_eq!(signed(i64::MIN), "-9,223,372,036,854,775,808");
        assert_eq!(
            (counted(1, "log", "logs"), counted(2, "log", "logs")),
            ("1 log".into(), "2 logs".into())
        );
        assert_eq!(
            (percent(1, 8), percent(1, 0)),
            ("12.5 %".into(), "-".into())
        );
    }

    #[test]
    fn spans_have_their_two_largest_units() {
        for (ms, text) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1000, "1 s"),
            (61_000, "1 min 1 s"),
            (604_799_000, "6 d 23 h"),
            (604_800_000, "7 d"),
            (86_400_000 * 800, "2 a 70 d"),
        ] {
            assert_eq!(duration(ms), text);
        }
    }

    #[test]
    fn times_are_those_of_the_calendar() {
        for (ms, text) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_400_000, "2000-02-29 00:00 UTC"),
            (1_767_000_000_000, "2025-12-29 09:20 UTC"),
            (YEAR_10000_MS - 1, "9999-12-31 23:59 UTC"),
            (YEAR_10000_MS, "253402300800000 ms"),
            (-1, "-1 ms"),
        ] {
            assert_eq!(time(ms), text);
        }
        for days in (-800_000..3_000_000).step_by(37) {
            let (year, month, day) = civil(days);
            assert_eq!(days_of(year, month, day), days);
            assert!((1..=12).contains(&month) && (1..=31).contains(&day));
        }
    }
}

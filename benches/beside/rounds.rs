//! Contestants that do the same work in turns, and what came of it.

use std::time::{Duration, Instant};

use super::kafka::Kafka;

/// One round of a contestant: how much it does a second.
pub(crate) type Work<'a> = Box<dyn FnMut() -> f64 + 'a>;
/// The same of Kafka, which is asked through its process.
pub(crate) type KafkaWork<'a> = Box<dyn FnMut(&mut Kafka) -> f64 + 'a>;

/// What a rate is told in.
#[derive(Clone, Copy)]
pub(crate) struct Unit {
    pub(crate) name: &'static str,
    /// How many of what is counted make one.
    pub(crate) size: f64,
    /// Whether less is better: times and memory. Ratios are told the other way round then, so that more is better in all.
    pub(crate) is_cost: bool,
}

pub(crate) const M_RECORDS: Unit = unit("M rec/s", 1e6);
pub(crate) const GB: Unit = unit("GB/s", 1e9);
pub(crate) const K_CALLS: Unit = unit("k/s", 1e3);
pub(crate) const A_SECOND: Unit = unit("/s", 1.0);

const fn unit(name: &'static str, size: f64) -> Unit {
    Unit {
        name,
        size,
        is_cost: false,
    }
}

/// The unit of something that one wants little of.
pub(crate) const fn cost(name: &'static str, size: f64) -> Unit {
    Unit {
        name,
        size,
        is_cost: true,
    }
}

/// How many times as fast as another contestant klog has to be; none if the row only tells.
pub(crate) type Floor = Option<f64>;

/// A row of the table before it is run.
pub(crate) struct Contest<'a> {
    pub(crate) name: &'static str,
    /// What is included.
    pub(crate) includes: &'static str,
    pub(crate) unit: Unit,
    pub(crate) klog: Work<'a>,
    pub(crate) kafka: Option<(KafkaWork<'a>, Floor)>,
    /// What else klog is measured beside, mostly plain reads and writes, with its name.
    pub(crate) other: Option<(&'static str, Work<'a>, Floor)>,
    /// What no such work takes less than on this machine, where the other contestant does only a part of it.
    pub(crate) limit: Option<Work<'a>>,
}

impl Contest<'_> {
    /// Whether anything is asked of it.
    pub(crate) fn has_floor(&self) -> bool {
        let of_kafka = self.kafka.as_ref().and_then(|(_, floor)| *floor);
        let of_other = self.other.as_ref().and_then(|(_, _, floor)| *floor);
        of_kafka.or(of_other).is_some()
    }

    /// Runs the rounds, and one before them that does not count; no new one after that time.
    pub(crate) fn run(
        mut self,
        rounds: usize,
        patience: Duration,
        mut kafka: Option<&mut Kafka>,
    ) -> Row {
        let mut klog = Vec::new();
        let (mut by_kafka, mut by_other, mut by_limit) = (Vec::new(), Vec::new(), Vec::new());
        let began = Instant::now();
        for round in 0..=rounds {
            // On a machine that is busy, or slow to sync, fewer rounds have to do.
            if round > 1 && began.elapsed() > patience {
                break;
            }
            let of_other = self.other.as_mut().map(|(_, work, _)| work());
            let of_limit = self.limit.as_mut().map(|work| work());
            let of_kafka = match (&mut self.kafka, kafka.as_deref_mut()) {
                (Some((work, _)), Some(kafka)) => Some(work(kafka)),
                _ => None,
            };
            let of_klog = (self.klog)();
            if round > 0 {
                klog.push(of_klog);
                by_kafka.extend(of_kafka);
                by_other.extend(of_other);
                by_limit.extend(of_limit);
            }
        }
        let row = Row::new(
            (self.name, self.includes, self.unit),
            klog,
            self.kafka.map(|(_, floor)| (by_kafka, floor)),
            self.other
                .map(|(name, _, floor)| (name, by_other.clone(), floor)),
        );
        Row {
            limit_by_other: (!by_limit.is_empty()).then(|| {
                Beside::new(by_other, &by_limit, None, row.unit)
                    .ratio
                    .median
            }),
            ..row
        }
    }
}

/// Median and range.
#[derive(Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Spread {
    pub(crate) fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self {
            median: values[values.len() / 2],
            least: values[0],
            most: values[values.len() - 1],
        }
    }
}

/// Another contestant, and klog as multiples of it.
pub(crate) struct Beside {
    pub(crate) rate: Spread,
    /// Of the rounds: what two do one after the other meets the same machine.
    pub(crate) ratio: Spread,
    pub(crate) floor: Floor,
}

impl Beside {
    fn new(rates: Vec<f64>, klog: &[f64], floor: Floor, unit: Unit) -> Self {
        let ratios = klog.iter().zip(&rates).map(|(klog, other)| {
            if unit.is_cost {
                other / klog
            } else {
                klog / other
            }
        });
        Self {
            ratio: Spread::of(ratios.collect()),
            rate: Spread::of(rates),
            floor,
        }
    }

    /// No ratio is one of nothing to nothing.
    pub(crate) fn is_met(&self) -> bool {
        let ratio = self.ratio.median;
        self.floor
            .is_none_or(|floor| ratio.is_nan() || ratio >= floor)
    }
}

/// A row of the table.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) includes: &'static str,
    pub(crate) unit: Unit,
    pub(crate) klog: Spread,
    pub(crate) kafka: Option<Beside>,
    pub(crate) other: Option<(&'static str, Beside)>,
    /// How many times as fast as Kafka the machine itself is, where klog is measured beside plain reads and writes.
    raw_by_kafka: Option<f64>,
    /// How many times as fast as the other contestant the whole work could be at most.
    limit_by_other: Option<f64>,
}

/// What came of what is asked of a row.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Verdict {
    NothingAsked,
    Met,
    /// Missed, but the machine itself is but so many times as fast as that contestant, which is less than what is asked of klog.
    BeyondRaw(f64, &'static str),
    Missed,
}

/// The name of plain reads and writes of the same bytes: no work on files takes less.
pub(crate) const RAW: &str = "raw";

impl Row {
    /// From the figures of the rounds; of Kafka there are none where it does not take part.
    pub(crate) fn new(
        (name, includes, unit): (&'static str, &'static str, Unit),
        klog: Vec<f64>,
        kafka: Option<(Vec<f64>, Floor)>,
        other: Option<(&'static str, Vec<f64>, Floor)>,
    ) -> Self {
        let beside = |rates: Vec<f64>, floor| Beside::new(rates, &klog, floor, unit);
        let raw_by_kafka = match (&kafka, &other) {
            (Some((by_kafka, _)), Some((RAW, raw, _))) if !by_kafka.is_empty() => {
                Some(Beside::new(by_kafka.clone(), raw, None, unit).ratio.median)
            }
            _ => None,
        };
        Self {
            raw_by_kafka,
            limit_by_other: None,
            name,
            includes,
            unit,
            kafka: kafka
                .filter(|(rates, _)| !rates.is_empty())
                .map(|(rates, floor)| beside(rates, floor)),
            other: other.map(|(name, rates, floor)| (name, beside(rates, floor))),
            klog: Spread::of(klog),
        }
    }

    pub(crate) fn verdict(&self) -> Verdict {
        let other = self.other.as_ref().map(|(_, other)| other);
        let asked = |beside: &&Beside| beside.floor.is_some();
        let kafka = self.kafka.as_ref();
        if kafka.filter(asked).or(other.filter(asked)).is_none() {
            return Verdict::NothingAsked;
        }
        let of_kafka = verdict_beside(kafka, self.raw_by_kafka, "Kafka");
        let name = self.other.as_ref().map_or("", |(name, _)| name);
        match (of_kafka, verdict_beside(other, self.limit_by_other, name)) {
            (Verdict::Met, verdict) | (verdict, Verdict::Met) => verdict,
            (Verdict::BeyondRaw(..), Verdict::BeyondRaw(..)) => of_kafka,
            _ => Verdict::Missed,
        }
    }
}

/// What came of what is asked of klog beside one contestant, of which the machine itself is but a multiple.
fn verdict_beside(beside: Option<&Beside>, machine: Option<f64>, name: &'static str) -> Verdict {
    let Some(beside) = beside.filter(|beside| !beside.is_met()) else {
        return Verdict::Met;
    };
    match machine {
        Some(times) if beside.floor.is_some_and(|floor| times < floor) => {
            Verdict::BeyondRaw(times, name)
        }
        _ => Verdict::Missed,
    }
}

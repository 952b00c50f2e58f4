//! A curve over sizes: how steep it is, and how steep it may be.

/// What is asked of a curve.
#[derive(Clone, Copy)]
pub(crate) enum Asked {
    /// Its exponent is that of a line at most, but for noise.
    Linear,
    /// At the largest size it takes at most so many times what it takes at the smallest.
    AtMostTimes(f64),
}

/// The exponent that still counts as linear.
const LINEAR_MAX: f64 = 1.15;

pub(crate) struct Curve {
    pub(crate) name: &'static str,
    pub(crate) asked: Asked,
    /// Size and cost, in growing order.
    pub(crate) points: Vec<(f64, f64)>,
}

/// Curves in one picture.
pub(crate) struct Chart {
    /// Of the picture, without its ending.
    pub(crate) file: &'static str,
    pub(crate) title: &'static str,
    /// What the sizes are.
    pub(crate) x: &'static str,
    pub(crate) y: &'static str,
    pub(crate) curves: Vec<Curve>,
}

impl Curve {
    pub(crate) fn new(name: &'static str, asked: Asked) -> Self {
        Self {
            name,
            asked,
            points: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, size: u64, cost: f64) {
        self.points.push((size as f64, cost));
    }

    /// The slope of the line through the logarithms, by least squares.
    pub(crate) fn exponent(&self) -> f64 {
        let logs: Vec<(f64, f64)> = self.points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
        let n = logs.len() as f64;
        let (x, y) = logs
            .iter()
            .fold((0.0, 0.0), |(a, b), (x, y)| (a + x / n, b + y / n));
        let (mut over, mut under) = (0.0, 0.0);
        for (a, b) in logs {
            over += (a - x) * (b - y);
            under += (a - x) * (a - x);
        }
        over / under
    }

    fn last_over_first(&self) -> f64 {
        self.points[self.points.len() - 1].1 / self.points[0].1
    }

    pub(crate) fn is_good(&self) -> bool {
        match self.asked {
            Asked::Linear => self.exponent() <= LINEAR_MAX,
            Asked::AtMostTimes(times) => self.last_over_first() <= times,
        }
    }

    fn verdict(&self) -> String {
        let verdict = if self.is_good() { "ok" } else { "TOO STEEP" };
        match self.asked {
            Asked::Linear => format!("at most {LINEAR_MAX}: {verdict}"),
            Asked::AtMostTimes(times) => format!(
                "{:.1} times, at most {times:.1}: {verdict}",
                self.last_over_first()
            ),
        }
    }

    fn values(&self) -> String {
        let values = self
            .points
            .iter()
            .map(|(size, cost)| format!("{size}: {}", short(*cost)));
        values.collect::<Vec<_>>().join(", ")
    }

    /// For the terminal.
    pub(crate) fn line(&self, chart: &Chart) -> String {
        format!(
            "{:<24} {} over {}: {}; exponent {:.2}; {}",
            self.name,
            chart.y,
            chart.x,
            self.values(),
            self.exponent(),
            self.verdict()
        )
    }

    /// For the table.
    pub(crate) fn row(&self, chart: &Chart) -> String {
        format!(
            "| {} | {} over {} | {} | {:.2} | {} |",
            self.name,
            chart.y,
            chart.x,
            self.values(),
            self.exponent(),
            self.verdict()
        )
    }
}

/// Three digits that count.
fn short(value: f64) -> String {
    let digits = 2 - value.abs().log10().floor().clamp(-9.0, 2.0) as i32;
    format!("{value:.*}", digits as usize)
}

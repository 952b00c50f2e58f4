//! A chart as SVG: both axes logarithmic, so that a line of slope 1 is linear growth, which is drawn for comparison.

use std::fmt::Write;

use super::curve::Chart;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 460.0;
const LEFT: f64 = 90.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 156.0;
/// Told apart also by those who see few colours, and by marks.
const COLOURS: [&str; 4] = ["#0072b2", "#d55e00", "#009e73", "#aa4499"];

/// From a value to a place, by its logarithm.
struct Axis {
    from: f64,
    to: f64,
    begin: f64,
    end: f64,
}

impl Axis {
    /// Whole decades around the values.
    fn around(values: impl Iterator<Item = f64> + Clone, begin: f64, end: f64) -> Self {
        let least = values.clone().fold(f64::INFINITY, f64::min);
        let most = values.fold(0.0, f64::max);
        let from = least.log10().floor();
        Self {
            from,
            to: most.log10().ceil().max(from + 1.0),
            begin,
            end,
        }
    }

    fn place(&self, value: f64) -> f64 {
        let share = (value.log10() - self.from) / (self.to - self.from);
        self.begin + share * (self.end - self.begin)
    }

    fn decades(&self) -> impl Iterator<Item = f64> + use<> {
        (self.from as i32..=self.to as i32).map(|n| 10_f64.powi(n))
    }
}

fn name_of(decade: f64) -> String {
    if decade >= 1.0 {
        let text = format!("{decade:.0}");
        let mut out = String::new();
        for (n, digit) in text.chars().enumerate() {
            if n > 0 && (text.len() - n) % 3 == 0 {
                out.push(',');
            }
            out.push(digit);
        }
        out
    } else {
        let digits = (-decade.log10()).round() as usize;
        format!("{decade:.digits$}")
    }
}

fn mark(svg: &mut String, n: usize, x: f64, y: f64) {
    let colour = COLOURS[n % COLOURS.len()];
    match n % 4 {
        0 => writeln!(
            svg,
            r#"<circle cx="{x:.1}" cy="{y:.1}" r="4" fill="{colour}"/>"#
        ),
        1 => writeln!(
            svg,
            r#"<rect x="{:.1}" y="{:.1}" width="8" height="8" fill="{colour}"/>"#,
            x - 4.0,
            y - 4.0
        ),
        2 => writeln!(
            svg,
            r#"<path d="M{:.1} {:.1}h10l-5 -9z" fill="{colour}"/>"#,
            x - 5.0,
            y + 4.0
        ),
        _ => writeln!(
            svg,
            r#"<path d="M{x:.1} {:.1}l5 5l-5 5l-5 -5z" fill="{colour}"/>"#,
            y - 5.0
        ),
    }
    .unwrap();
}

/// The whole picture.
pub(crate) fn draw(chart: &Chart) -> String {
    let points = || chart.curves.iter().flat_map(|curve| curve.points.iter());
    let x = Axis::around(points().map(|(x, _)| *x), LEFT, WIDTH - RIGHT);
    let y = Axis::around(points().map(|(_, y)| *y), HEIGHT - BOTTOM, TOP);
    let mut svg = String::new();
    let out = &mut svg;
    writeln!(
        out,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="13">"#
    )
    .unwrap();
    writeln!(out, "<title>{}</title>", chart.title).unwrap();
    writeln!(
        out,
        r##"<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>"##
    )
    .unwrap();
    writeln!(
        out,
        r#"<text x="{LEFT}" y="26" font-size="16" font-weight="bold">{}</text>"#,
        chart.title
    )
    .unwrap();
    axes(out, chart, &x, &y);
    guide(out, chart, &x, &y);
    for (n, curve) in chart.curves.iter().enumerate() {
        let colour = COLOURS[n % COLOURS.len()];
        let path: Vec<String> = curve
            .points
            .iter()
            .map(|(size, cost)| format!("{:.1},{:.1}", x.place(*size), y.place(*cost)))
            .collect();
        writeln!(
            out,
            r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="2"/>"#,
            path.join(" ")
        )
        .unwrap();
        for (size, cost) in &curve.points {
            mark(out, n, x.place(*size), y.place(*cost));
        }
        legend(out, n, curve.name, curve.exponent());
    }
    out.push_str("</svg>\n");
    svg
}

fn axes(out: &mut String, chart: &Chart, x: &Axis, y: &Axis) {
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    for decade in x.decades() {
        let at = x.place(decade);
        writeln!(
            out,
            r##"<path d="M{at:.1} {TOP}V{bottom}" stroke="#dddddd"/>"##
        )
        .unwrap();
        writeln!(
            out,
            r#"<text x="{at:.1}" y="{}" text-anchor="middle">{}</text>"#,
            bottom + 18.0,
            name_of(decade)
        )
        .unwrap();
    }
    for decade in y.decades() {
        let at = y.place(decade);
        writeln!(
            out,
            r##"<path d="M{LEFT} {at:.1}H{right}" stroke="#dddddd"/>"##
        )
        .unwrap();
        writeln!(
            out,
            r#"<text x="{}" y="{:.1}" text-anchor="end">{}</text>"#,
            LEFT - 8.0,
            at + 4.0,
            name_of(decade)
        )
        .unwrap();
    }
    writeln!(
        out,
        r##"<path d="M{LEFT} {TOP}V{bottom}H{right}" fill="none" stroke="#333333"/>"##
    )
    .unwrap();
    writeln!(
        out,
        r#"<text x="{}" y="{}" text-anchor="middle">{}</text>"#,
        f64::midpoint(LEFT, right),
        bottom + 40.0,
        chart.x
    )
    .unwrap();
    let middle = f64::midpoint(TOP, bottom);
    writeln!(
        out,
        r#"<text transform="translate(20 {middle}) rotate(-90)" text-anchor="middle">{}</text>"#,
        chart.y
    )
    .unwrap();
}

/// Linear growth from the first point of the first curve on, as far as it stays in the picture.
fn guide(out: &mut String, chart: &Chart, x: &Axis, y: &Axis) {
    let (size, cost) = chart.curves[0].points[0];
    let grown = (10_f64.powf(x.to) / size).min(10_f64.powf(y.to) / cost);
    writeln!(
        out,
        r##"<path d="M{:.1} {:.1}L{:.1} {:.1}" stroke="#888888" stroke-dasharray="5 5"/>"##,
        x.place(size),
        y.place(cost),
        x.place(size * grown),
        y.place(cost * grown)
    )
    .unwrap();
    let (from, at) = (LEFT, HEIGHT - 14.0);
    writeln!(
        out,
        r##"<path d="M{from} {}h24" stroke="#888888" stroke-dasharray="5 5"/>"##,
        at - 4.0
    )
    .unwrap();
    writeln!(out, r#"<text x="{}" y="{at}">linear</text>"#, from + 32.0).unwrap();
}

/// One below the other, and all below the picture.
fn legend(out: &mut String, n: usize, name: &str, exponent: f64) {
    let (from, at) = (LEFT, HEIGHT - 94.0 + n as f64 * 20.0);
    mark(out, n, from + 12.0, at - 4.0);
    writeln!(
        out,
        r#"<text x="{}" y="{at}">{name} (exponent {exponent:.2})</text>"#,
        from + 32.0
    )
    .unwrap();
}

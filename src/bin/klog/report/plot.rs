//! A plot of bars as SVG: a pure function from data to text. Colours are classes of the page's style.
#![allow(
    clippy::cast_precision_loss,
    reason = "places in a picture of a few hundred points"
)]

use std::fmt::Write as _;

use super::html::Text;
use super::scale::Tick;

/// Size in points; on the page it is scaled by little, so that text stays legible on a narrow screen.
const WIDTH: f64 = 440.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 46.0;
/// Of the text at ticks, about, where it is largest: on narrow screens.
const CHAR_WIDTH: f64 = 8.2;
/// What is there is to be seen, however small.
const BAR_HEIGHT_MIN: f64 = 1.5;
const BAR_WIDTH_MIN: f64 = 0.8;

/// One of the two axes.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    /// What it tells, with the unit.
    pub(crate) title: String,
    /// Its ends.
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) ticks: Vec<Tick>,
}

/// One bar.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    /// From where to where on the axis below.
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// From where to where on the upright axis.
    pub(crate) bottom: f64,
    pub(crate) top: f64,
    /// Its colour.
    pub(crate) class: &'static str,
    /// What is shown when one points at it.
    pub(crate) label: String,
}

/// A plot.
#[derive(Clone, Debug)]
pub(crate) struct Plot {
    /// What it shows.
    pub(crate) title: String,
    /// What is to be known to read it.
    pub(crate) note: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) bars: Vec<Bar>,
    /// What colours mean, if there is more than one.
    pub(crate) legend: Vec<(&'static str, &'static str)>,
}

impl Axis {
    /// From 0 to the last tick.
    pub(crate) fn up(title: &str, ticks: Vec<Tick>) -> Self {
        Self {
            title: title.to_owned(),
            from: 0.0,
            to: ticks.last().map_or(1.0, |tick| tick.at),
            ticks,
        }
    }

    /// Where a value lies, 0 at the beginning and 1 at the end.
    fn share(&self, value: f64) -> f64 {
        let length = self.to - self.from;
        if length > 0.0 {
            ((value - self.from) / length).clamp(0.0, 1.0)
        } else {
            0.0
        }
    }
}

/// The figure with its title and legend.
pub(crate) fn figure(plot: &Plot) -> String {
    let mut out = format!("<figure>\n<figcaption>{}", Text(&plot.title));
    if !plot.note.is_empty() {
        let _ = write!(out, " <span class=\"note\">{}</span>", Text(&plot.note));
    }
    out.push_str("</figcaption>\n");
    out.push_str(&svg(plot));
    if !plot.legend.is_empty() {
        out.push_str("<p class=\"legend\">");
        for (class, text) in &plot.legend {
            let _ = write!(
                out,
                "<span><svg class=\"key\" aria-hidden=\"true\"><rect class=\"{class}\" width=\"100%\" height=\"100%\"/></svg> {}</span> ",
                Text(text)
            );
        }
        out.push_str("</p>\n");
    }
    out.push_str("</figure>\n");
    out
}

/// The picture alone.
pub(crate) fn svg(plot: &Plot) -> String {
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    let x_of = |value: f64| LEFT + plot.x.share(value) * (right - LEFT);
    let y_of = |value: f64| bottom - plot.y.share(value) * (bottom - TOP);
    let mut out = format!(
        "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">\n",
        Text(&format!(
            "{}: {} by {}",
            plot.title, plot.y.title, plot.x.title
        ))
    );
    for tick in &plot.y.ticks {
        let y = y_of(tick.at);
        let _ = writeln!(
            out,
            "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{right}\"/><text class=\"y\" x=\"{}\" y=\"{:.1}\">{}</text>",
            LEFT - 6.0,
            y + 4.0,
            Text(&tick.label)
        );
    }
    for bar in &plot.bars {
        let (from, to) = (x_of(bar.from), x_of(bar.to));
        let gap = if to - from > 4.0 { 1.0 } else { 0.0 };
        let foot = y_of(bar.bottom);
        let y = if bar.top > bar.bottom {
            y_of(bar.top).min(foot - BAR_HEIGHT_MIN)
        } else {
            foot
        };
        let _ = writeln!(
            out,
            "<rect class=\"{}\" x=\"{from:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{}</title></rect>",
            bar.class,
            (to - from - gap).max(BAR_WIDTH_MIN),
            foot - y,
            Text(&bar.label)
        );
    }
    let _ = writeln!(
        out,
        "<path class=\"axis\" d=\"M{LEFT} {TOP}V{bottom}H{right}\"/>"
    );
    for (tick, is_labelled) in plot.x.ticks.iter().zip(room_for(&plot.x, right - LEFT)) {
        let x = x_of(tick.at);
        let _ = write!(out, "<path class=\"axis\" d=\"M{x:.1} {bottom}v4\"/>");
        if is_labelled {
            let half = width_of(&tick.label) / 2.0;
            let place = if x + half > WIDTH { WIDTH - half } else { x };
            let _ = write!(
                out,
                "<text class=\"x\" x=\"{place:.1}\" y=\"{}\">{}</text>",
                bottom + 17.0,
                Text(&tick.label)
            );
        }
        out.push('\n');
    }
    let _ = writeln!(
        out,
        "<text class=\"x title\" x=\"{:.1}\" y=\"{}\">{}</text>\n<text class=\"x title\" transform=\"translate(11 {:.1}) rotate(-90)\">{}</text>\n</svg>",
        f64::midpoint(LEFT, right),
        HEIGHT - 6.0,
        Text(&plot.x.title),
        f64::midpoint(TOP, bottom),
        Text(&plot.y.title)
    );
    out
}

fn width_of(label: &str) -> f64 {
    label.chars().count() as f64 * CHAR_WIDTH
}

/// Which ticks of the axis below have room for their label.
fn room_for(axis: &Axis, length: f64) -> Vec<bool> {
    let mut taken_to = f64::NEG_INFINITY;
    axis.ticks
        .iter()
        .map(|tick| {
            let middle = axis.share(tick.at) * length;
            let half = width_of(&tick.label) / 2.0;
            let is_free = middle - half > taken_to;
            if is_free {
                taken_to = middle + half + CHAR_WIDTH;
            }
            is_free
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::scale;
    use super::*;

    fn plot(ticks: Vec<Tick>) -> Plot {
        Plot {
            title: "a < b".to_owned(),
            note: String::new(),
            x: Axis {
                title: "offset".to_owned(),
                from: 0.0,
                to: 10.0,
                ticks,
            },
            y: Axis::up("size (bytes)", scale::of_bytes(1000.0, 4)),
            bars: [(0.0, 5.0, 1000.0), (5.0, 5.001, 1.0), (6.0, 10.0, 0.0)]
                .map(|(from, to, height)| Bar {
                    from,
                    to,
                    bottom: 0.0,
                    top: height,
                    class: "one",
                    label: format!("{height} & more"),
                })
                .to_vec(),
            legend: Vec::new(),
        }
    }

    #[test]
    fn bars_lie_inside_and_small_ones_are_seen() {
        let text = svg(&plot(scale::of_offsets(0.0, 10.0, 5)));
        let numbers = |rect: &str, name: &str| -> f64 {
            let rest = rect.split_once(&format!(" {name}=\"")).unwrap().1;
            rest.split('"').next().unwrap().parse().unwrap()
        };
        let rects: Vec<&str> = text.lines().filter(|l| l.starts_with("<rect")).collect();
        assert_eq!(rects.len(), 3);
        for rect in &rects {
            assert!(numbers(rect, "x") >= LEFT, "{rect}");
            assert!(
                numbers(rect, "x") + numbers(rect, "width") <= WIDTH - RIGHT + 0.1,
                "{rect}"
            );
            assert!(
                numbers(rect, "y") + numbers(rect, "height") <= HEIGHT - BOTTOM + 0.1,
                "{rect}"
            );
        }
        assert!(numbers(rects[0], "height") > 100.0);
        assert!((numbers(rects[1], "height") - BAR_HEIGHT_MIN).abs() < 0.01);
        assert!(numbers(rects[1], "width") >= BAR_WIDTH_MIN);
        assert!(numbers(rects[2], "height") == 0.0);
        assert!(text.contains("1000 &amp; more") && text.contains("aria-label=\"a &lt; b: "));
        for title in [">offset</text>", ">size (bytes)</text>", ">1 KiB</text>"] {
            assert!(text.contains(title), "{title}");
        }
    }

    #[test]
    fn labels_do_not_lie_on_each_other() {
        let ticks: Vec<Tick> = (0..=10)
            .map(|i| Tick {
                at: f64::from(i),
                label: "9,223,372,036,854,775,807".to_owned(),
            })
            .collect();
        let axis = plot(ticks).x;
        let places: Vec<f64> = axis
            .ticks
            .iter()
            .zip(room_for(&axis, 300.0))
            .filter_map(|(tick, is_labelled)| is_labelled.then_some(tick.at))
            .collect();
        assert_eq!(places, [0.0, 8.0]);
    }
}

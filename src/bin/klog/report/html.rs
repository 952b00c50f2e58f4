//! Text as HTML, of which every part that was read from a directory is escaped. What is made is XML as well, so that tests can
//! parse it.

use std::fmt::{self, Display, Write as _};

/// Text to be shown as it is.
pub(crate) struct Text<'a>(pub(crate) &'a str);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c if is_hidden(c) => write!(f, "{}", c.escape_unicode())?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// Whether a character cannot be seen, turns the text around it, or may not be in XML.
fn is_hidden(c: char) -> bool {
    let n = u32::from(c);
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
        || matches!(n & 0xffff, 0xfffe | 0xffff)
}

/// A table whose first column is text and whose others are numbers, unless `classes` says else.
pub(crate) struct Table {
    out: String,
    classes: Vec<&'static str>,
}

impl Table {
    /// With a head: each column's name, and its class (`t` text, `n` number, `b` bar).
    pub(crate) fn new(columns: &[(&str, &'static str)]) -> Self {
        let mut out = String::from("<div class=\"scroll\"><table><thead><tr>");
        for (name, class) in columns {
            let _ = write!(
                out,
                "<th scope=\"col\" class=\"{class}\">{}</th>",
                Text(name)
            );
        }
        out.push_str("</tr></thead><tbody>\n");
        Self {
            out,
            classes: columns.iter().map(|(_, class)| *class).collect(),
        }
    }

    /// Adds a row of cells that are HTML already.
    pub(crate) fn row(&mut self, cells: &[String]) {
        self.out.push_str("<tr>");
        for (cell, class) in cells.iter().zip(&self.classes) {
            let _ = write!(self.out, "<td class=\"{class}\">{cell}</td>");
        }
        self.out.push_str("</tr>\n");
    }

    /// Adds a row over all columns.
    pub(crate) fn rest(&mut self, text: &str) {
        let _ = writeln!(
            self.out,
            "<tr class=\"rest\"><td colspan=\"{}\">{}</td></tr>",
            self.classes.len(),
            Text(text)
        );
    }

    pub(crate) fn end(mut self) -> String {
        self.out.push_str("</tbody></table></div>\n");
        self.out
    }
}

/// Escaped text as a cell.
pub(crate) fn cell(text: impl AsRef<str>) -> String {
    Text(text.as_ref()).to_string()
}

/// A bar of a length that is a share of the cell.
pub(crate) fn bar(part: u64, whole: u64, class: &str) -> String {
    #[allow(clippy::cast_precision_loss, reason = "a length on a screen")]
    let share = part as f64 * 100.0 / whole.max(1) as f64;
    format!(
        "<svg class=\"bar\" aria-hidden=\"true\"><rect class=\"{class}\" width=\"{share:.2}%\" height=\"100%\"/></svg>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_meaning_in_html_loses_it() {
        assert_eq!(
            Text("<a href='x'>&\"").to_string(),
            "&lt;a href=&#39;x&#39;&gt;&amp;&quot;"
        );
        assert_eq!(
            Text("a\0b\nc\u{202e}d\u{ffff}").to_string(),
            "a\\u{0}b\\u{a}c\\u{202e}d\\u{ffff}"
        );
        assert_eq!(
            Text("gr\u{fc}n \u{1f600}").to_string(),
            "gr\u{fc}n \u{1f600}"
        );
    }
}

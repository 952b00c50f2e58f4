//! OpenMetrics text, taken apart again by its grammar.

use std::collections::{BTreeMap, BTreeSet};

/// OpenMetrics text, taken apart again by its grammar; what breaks it is a failure.
pub(crate) struct Exposition {
    pub(crate) families: BTreeMap<String, Family>,
    pub(crate) samples: BTreeMap<(String, Vec<(String, String)>), String>,
}

#[derive(Debug, Default)]
pub(crate) struct Family {
    pub(crate) kind: String,
    pub(crate) unit: String,
    pub(crate) help: String,
}

impl Exposition {
    pub(crate) fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<&str> {
        let labels = labels
            .iter()
            .map(|(label, content)| ((*label).to_owned(), (*content).to_owned()))
            .collect();
        self.samples
            .get(&(name.to_owned(), labels))
            .map(String::as_str)
    }

    pub(crate) fn has_label(&self, label: &str, content: &str) -> bool {
        let mut all = self.samples.keys().flat_map(|(_, labels)| labels);
        all.any(|(l, c)| l == label && c == content)
    }
}

fn is_name(name: &str) -> bool {
    let first = name.chars().next().unwrap_or('0');
    (first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

pub(crate) fn parse(text: &str) -> Exposition {
    let mut found = Exposition {
        families: BTreeMap::new(),
        samples: BTreeMap::new(),
    };
    let body = text.strip_suffix("# EOF\n").expect("it ends with # EOF");
    let mut current = String::new();
    for line in body.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let [what, name, rest] =
                <[&str; 3]>::try_from(comment.splitn(3, ' ').collect::<Vec<_>>())
                    .unwrap_or_else(|_| panic!("{line}"));
            assert!(is_name(name), "{line}");
            if name != current {
                assert!(
                    !found.families.contains_key(name),
                    "the family {name} is not in one piece"
                );
                name.clone_into(&mut current);
                found.families.insert(current.clone(), Family::default());
            }
            let family = found.families.get_mut(name).unwrap();
            let field = match what {
                "TYPE" => &mut family.kind,
                "UNIT" => &mut family.unit,
                "HELP" => &mut family.help,
                _ => panic!("{line}"),
            };
            assert!(field.is_empty() && !rest.is_empty(), "{line}");
            rest.clone_into(field);
            assert!(
                family.unit.is_empty() || name.ends_with(&format!("_{}", family.unit)),
                "{line}"
            );
            continue;
        }
        let (name, labels, value) = parse_sample(line);
        let suffix = name
            .strip_prefix(&current)
            .unwrap_or_else(|| panic!("{line} stands in the family {current}"));
        let family = &found.families[&current];
        let allowed: &[&str] = match &*family.kind {
            "gauge" => &[""],
            "counter" => &["_total"],
            "summary" => &["_count", "_sum"],
            other => panic!("a type that is not used: {other}"),
        };
        assert!(allowed.contains(&suffix), "{line}");
        assert!(!family.help.is_empty(), "{line}");
        let before = found.samples.insert((name, labels), value);
        assert!(before.is_none(), "twice: {line}");
    }
    found
}

/// `name{label="content",...} value`.
fn parse_sample(line: &str) -> (String, Vec<(String, String)>, String) {
    let name_end = line.find(['{', ' ']).unwrap();
    let (name, mut rest) = line.split_at(name_end);
    assert!(is_name(name), "{line}");
    let mut labels = Vec::new();
    while let Some(next) = rest.strip_prefix(['{', ',']) {
        let (label, content) = next.split_once("=\"").unwrap();
        assert!(is_name(label), "{line}");
        let mut text = String::new();
        let mut chars = content.char_indices();
        let end = loop {
            match chars.next().unwrap() {
                (at, '"') => break at,
                (_, '\\') => text.push(match chars.next().unwrap().1 {
                    'n' => '\n',
                    c @ ('\\' | '"') => c,
                    c => panic!("\\{c} in {line}"),
                }),
                (_, c) => text.push(c),
            }
        };
        labels.push((label.to_owned(), text));
        rest = &content[end + 1..];
    }
    let names: BTreeSet<&String> = labels.iter().map(|(label, _)| label).collect();
    assert_eq!(names.len(), labels.len(), "{line}");
    let value = rest.trim_start_matches('}').strip_prefix(' ').unwrap();
    assert!(value.parse::<f64>().is_ok(), "{line}");
    (name.to_owned(), labels, value.to_owned())
}

//! `klog report`: one page that says what `klog stat` says, needs nothing else, and believes nothing that it shows.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

mod support;
/// How the command writes numbers.
#[path = "../src/bin/klog/units.rs"]
#[allow(
    dead_code,
    clippy::indexing_slicing,
    reason = "a test takes what it needs"
)]
mod units;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use roxmltree::{Document, Node, ParsingOptions};
use serde_json::Value;
use support::browser::{Loaded, load};
use support::command::{Run, klog, klog_in_64_mib};
use support::engine::{Home, NOW, append, log, rec, t0, v2};
use support::{fixture, tree};

/// More than any directory of logs needs.
const PAGE_BYTES_MAX: usize = 2 << 20;

fn report(dir: &Path, page: &Path, more: &[&str]) -> Run {
    let now = format!("--now-ms={NOW}");
    let head: [&OsStr; 5] = [
        "report".as_ref(),
        dir.as_os_str(),
        "-o".as_ref(),
        page.as_os_str(),
        now.as_ref(),
    ];
    klog(head.into_iter().chain(more.iter().map(OsStr::new)))
}

/// The page of a directory, which must be made.
fn page_of(dir: &Path, more: &[&str]) -> String {
    let run = report(dir, Path::new("-"), more);
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.stdout
}

fn stat(dir: &Path, more: &[&str]) -> Value {
    let now = format!("--now-ms={NOW}");
    let run = klog([&["stat", "--json", &now, dir.to_str().unwrap()], more].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

fn parse(page: &str) -> Document<'_> {
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    Document::parse_with_options(page, options).unwrap_or_else(|e| panic!("{e}: {page}"))
}

fn text(node: Node<'_, '_>) -> String {
    let parts: Vec<&str> = node
        .descendants()
        .filter(Node::is_text)
        .filter_map(|node| node.text())
        .collect();
    parts
        .concat()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

fn section<'a>(page: &'a Document<'_>, id: &str) -> Node<'a, 'a> {
    page.descendants()
        .find(|node| node.attribute("id") == Some(id))
        .unwrap_or_else(|| panic!("no section {id}"))
}

/// The cells of each row below a node.
fn rows(node: Node<'_, '_>) -> Vec<Vec<String>> {
    node.descendants()
        .filter(|node| node.has_tag_name("tbody"))
        .flat_map(|body| body.children().filter(|node| node.has_tag_name("tr")))
        .map(|row| {
            let cells = row.children().filter(|node| node.has_tag_name("td"));
            cells.map(text).collect()
        })
        .collect()
}

/// Nothing that a browser would run or fetch. Links inside of the page and data in it are no requests.
fn assert_needs_nothing(page: &Document<'_>) {
    const MARKUP: [&str; 43] = [
        "html",
        "head",
        "meta",
        "link",
        "title",
        "style",
        "body",
        "header",
        "main",
        "section",
        "footer",
        "article",
        "h1",
        "h2",
        "h3",
        "p",
        "ul",
        "li",
        "b",
        "br",
        "code",
        "span",
        "div",
        "dl",
        "dt",
        "dd",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "figure",
        "figcaption",
        "svg",
        "g",
        "rect",
        "path",
        "text",
        "a",
        "em",
        "small",
        "line",
    ];
    for node in page.descendants().filter(Node::is_element) {
        let name = node.tag_name().name();
        assert!(MARKUP.contains(&name), "<{name}>");
        for attribute in node.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            assert!(
                !name.starts_with("on") && name != "src" && name != "style",
                "{name}={value}"
            );
            assert!(
                name != "href" || value.starts_with("data:,") || value.starts_with('#'),
                "{value}"
            );
            assert!(!value.contains("url(") || name == "title", "{name}={value}");
        }
        if node.has_tag_name("style") {
            let style = text(node);
            for word in ["url(", "@import", "http:", "https:", "//"] {
                assert!(!style.contains(word), "{word} in the style");
            }
        }
    }
}

/// What a topic of each sort would have: both policies, short times.
const CONFIG: [&str; 6] = [
    "--config",
    "log.cleanup.policy=compact,delete",
    "--config",
    "log.retention.ms=3600000",
    "--config",
    "log.cleaner.min.cleanable.ratio=0.3",
];

#[test]
fn every_fixture_has_a_page_whose_numbers_are_those_of_stat() {
    let mut compared = 0;
    for name in fixture::NAMES {
        let fixture = fixture::extract(name);
        let dir = &fixture.dir;
        let (before, times) = (tree::content(dir), tree::times(dir));
        for more in [&[][..], &CONFIG] {
            let page = page_of(dir, more);
            assert!(page.len() < PAGE_BYTES_MAX, "{name}: {} bytes", page.len());
            assert_eq!(page, page_of(dir, more), "{name}: not the same twice");
            let parsed = parse(&page);
            assert_needs_nothing(&parsed);
            let stat = stat(dir, more);
            let logs = stat["logs"].as_array().unwrap();
            let number = |log: &Value, path: &str| log.pointer(path).unwrap().as_u64().unwrap();
            let sum = |path: &str| logs.iter().map(|log| number(log, path)).sum::<u64>();
            let glance = text(section(&parsed, "glance"));
            for shown in [
                format!(
                    "{} in {}",
                    units::bytes(sum("/total/bytes")),
                    units::counted(sum("/total/batches"), "batch", "batches")
                ),
                format!("{} record", units::count(sum("/total/records"))),
                format!(
                    "{} of keys, values and headers",
                    units::bytes(sum("/total/payload_bytes"))
                ),
                format!(
                    "{} would be deleted by retention now",
                    units::bytes(sum("/retain/bytes"))
                ),
            ] {
                assert!(glance.contains(&shown), "{name}: {shown}: {glance}");
            }
            let rows = rows(section(&parsed, "logs"));
            assert_eq!(rows.len(), logs.len(), "{name}");
            for log in logs {
                let partition = log["log"].as_str().unwrap();
                let row = rows.iter().find(|row| row[0] == partition).unwrap();
                let saves = &log["clean"]["saves_bytes"];
                let expected = [
                    partition.to_owned(),
                    format!(
                        "{} to {}",
                        units::signed(log["start"].as_i64().unwrap()),
                        units::signed(log["end"].as_i64().unwrap())
                    ),
                    units::count(number(log, "/segments")),
                    units::bytes(number(log, "/total/bytes")),
                    units::count(number(log, "/total/records")),
                    format!(
                        "{:.2}",
                        units::ratio(
                            number(log, "/total/payload_bytes"),
                            number(log, "/total/bytes")
                        )
                    ),
                    units::count(number(log, "/keys")),
                    units::count(number(log, "/tombstones")),
                    match number(log, "/retain/segments") {
                        0 => "-".to_owned(),
                        _ => units::bytes(number(log, "/retain/bytes")),
                    },
                    saves.as_u64().map_or_else(|| "-".to_owned(), units::bytes),
                ];
                assert_eq!(row[..10], expected, "{name}");
                for part in ["retain", "clean"] {
                    let why = log[part]["why"].as_str().unwrap();
                    assert!(
                        row[10].contains(why),
                        "{name}: {partition}: {why}: {}",
                        row[10]
                    );
                }
                compared += 1;
            }
            let mut by_codec = rows_of_codecs(&parsed);
            for log in logs {
                for (codec, share) in log["codecs"].as_object().unwrap() {
                    *by_codec.get_mut(codec.as_str()).unwrap() -=
                        share["records"].as_i64().unwrap();
                }
            }
            assert!(
                by_codec.values().all(|left| *left == 0),
                "{name}: {by_codec:?}"
            );
        }
        assert_eq!(
            tree::differences(&before, &tree::content(dir)),
            [""; 0],
            "{name}"
        );
        assert_eq!(times, tree::times(dir), "{name}");
    }
    assert!(compared > 200, "{compared}");
}

/// The records of each codec, of all logs.
fn rows_of_codecs(page: &Document<'_>) -> std::collections::BTreeMap<String, i64> {
    rows(section(page, "codecs"))
        .into_iter()
        .map(|row| (row[0].clone(), row[5].replace(',', "").parse().unwrap()))
        .collect()
}

/// A log of some segments over some days, with keys that come again.
fn two_days() -> Home {
    let home = Home::new().set("internal.segment.bytes", 4096);
    let manager = home.open();
    let log = t0(&manager);
    for hour in 0..48 {
        let time = NOW - 48 * 3_600_000 + hour * 3_600_000;
        let value = "v".repeat(300);
        append(&log, &[rec(time, &format!("k{}", hour % 5), &value)]);
    }
    manager.close().unwrap();
    home
}

/// The titles of the bars of a plot.
fn bars<'a>(node: Node<'a, 'a>, title: &str) -> Vec<(String, &'a str)> {
    let figure = node
        .descendants()
        .filter(|node| node.has_tag_name("figure"))
        .find(|figure| text(*figure).contains(title))
        .unwrap_or_else(|| panic!("no plot {title}"));
    figure
        .descendants()
        .filter(|node| node.has_tag_name("rect"))
        .filter_map(|rect| {
            Some((
                text(rect.first_element_child()?),
                rect.attribute("class").unwrap(),
            ))
        })
        .collect()
}

#[test]
fn plots_show_when_records_came_where_segments_lie_and_what_will_go() {
    let home = two_days();
    let page = page_of(&home.dir, &["--config", "t:retention.ms=129600000"]);
    let page = parse(&page);
    let time = section(&page, "time");
    let hours = bars(time, "Bytes over time");
    assert_eq!(hours.len(), 48);
    assert!(
        hours[0]
            .0
            .starts_with("2025-12-27 09:00 UTC and 1 h after: ")
            && hours[0].0.ends_with(", 1 record, 1 batch"),
        "{hours:?}"
    );
    assert_eq!(bars(time, "Records over time").len(), 48);
    let labels: Vec<String> = time
        .descendants()
        .filter(|node| node.has_tag_name("text"))
        .map(text)
        .collect();
    for label in [
        "Dec 28",
        "bytes as stored",
        "records",
        "time (UTC), 2025-12-27 to 2025-12-29",
    ] {
        assert!(labels.iter().any(|l| l == label), "{label}: {labels:?}");
    }
    let details = section(&page, "details");
    let segments = bars(details, "Segments by offset");
    let stat = stat(&home.dir, &["--config", "t:retention.ms=129600000"]);
    let log = &stat["logs"][0];
    assert_eq!(segments.len() as u64, log["segments"].as_u64().unwrap());
    let going = segments
        .iter()
        .filter(|(_, class)| *class == "goes")
        .count() as u64;
    assert_eq!(going, log["retain"]["segments"].as_u64().unwrap());
    assert!(going > 0);
    assert_eq!(segments.last().unwrap().1, "active");
    assert!(segments[0].0.starts_with("offsets 0 to "), "{segments:?}");
    assert_eq!(bars(details, "Segments by time").len(), segments.len());
    // What stays goes later, in the order in which it came.
    let due = bars(section(&page, "holds"), "What retention.ms will delete");
    assert_eq!(due.len(), segments.len() - usize::try_from(going).unwrap());
    let why = text(details);
    assert!(
        why.contains("would delete 1 segments below") || why.contains("would delete"),
        "{why}"
    );
    assert!(
        why.contains("The oldest segment that stays goes by age at 2025-12-29 "),
        "{why}"
    );
}

#[test]
fn a_page_of_one_log_is_of_that_log() {
    let fixture = fixture::extract("kafka-4.4.0-broker");
    let page = page_of(
        &fixture.dir,
        &["compacted-0", "--config", "cleanup.policy=compact"],
    );
    let page = parse(&page);
    let rows = rows(section(&page, "logs"));
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0][0], "compacted-0");
    assert!(!text(section(&page, "details")).contains("rolled-0"));
    let config = ["compacted-0", "--config", "cleanup.policy=compact"];
    let why = stat(&fixture.dir, &config)["logs"][0]["clean"]["why"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(text(section(&page, "details")).contains(&why), "{why}");
    assert!(
        page.descendants()
            .all(|node| node.attribute("id") != Some("room"))
    );
}

/// Names of directories that mean something to a browser, and to whoever reads them.
const HOSTILE: [&str; 6] = [
    "<img src=x onerror=alert(1)>-0",
    "<script>alert(1)<\\script>-0",
    "\"'><b>bold-0",
    "]]>&amp;<!---0",
    "turned\u{202e}round\n-0",
    "https:evil.example-0",
];

fn hostile() -> (tempfile::TempDir, PathBuf) {
    let root = tree::scratch();
    let dir = root.path().join("<i onclick='alert(1)'>&\"");
    for name in HOSTILE {
        let partition = dir.join(name);
        fs::create_dir_all(&partition).unwrap();
        let records = v2(0, &[("<u>key</u>", "<script>alert(2)</script>")]);
        fs::write(partition.join("00000000000000000000.log"), records).unwrap();
        fs::write(partition.join("<script>.txt"), "").unwrap();
    }
    (root, dir)
}

#[test]
fn what_the_directory_says_is_shown_and_never_meant() {
    let (_root, dir) = hostile();
    let page = page_of(&dir, &["--verify"]);
    let parsed = parse(&page);
    assert_needs_nothing(&parsed);
    let shown = text(parsed.root_element());
    for name in &HOSTILE[..4] {
        assert!(
            shown.contains(&name.split_whitespace().collect::<Vec<_>>().join(" ")),
            "{name}: {shown}"
        );
    }
    assert!(shown.contains("turned\\u{202e}round\\u{a}-0"), "{shown}");
    assert!(shown.contains("<i onclick='alert(1)'>"), "{shown}");
    assert!(shown.contains("<script>.txt"), "findings name files");
    assert!(!page.contains("<u>"), "keys are not shown");
    assert_eq!(load(&page), Loaded::default());
}

#[test]
fn a_browser_opens_it_without_a_word_and_without_the_network() {
    let fixture = fixture::extract("kafka-4.4.0-broker");
    let page = page_of(&fixture.dir, &CONFIG);
    assert_eq!(load(&page), Loaded::default());
    // And would be heard if it had something to say.
    let planted = page.replace(
        "</main>",
        "<img src=\"http://127.0.0.1:9/x.png\" alt=\"\"/></main>",
    );
    let heard = load(&planted);
    assert!(
        heard
            .console
            .iter()
            .any(|line| line.contains("Content Security Policy")),
        "{heard:?}"
    );
    let start = planted.find("<meta http-equiv").unwrap();
    let end = start + planted[start..].find("/>").unwrap() + 2;
    let without_policy = format!("{}{}", &planted[..start], &planted[end..]);
    let heard = load(&without_policy);
    assert!(
        heard
            .requests
            .iter()
            .any(|url| url.contains("127.0.0.1:9/x.png")),
        "{heard:?}"
    );
}

#[test]
fn the_page_goes_where_it_is_meant_to_and_never_among_logs() {
    let home = two_days();
    let other = two_days();
    fs::write(other.dir.join("meta.properties"), "version=1\n").unwrap();
    let out = tree::scratch();
    let before = (
        tree::content(&home.dir),
        tree::times(&home.dir),
        tree::content(&other.dir),
    );
    let link = out.path().join("link");
    symlink(&home.dir, &link).unwrap();
    for (file, said) in [
        (home.dir.join("page.html"), "directory of logs"),
        (home.dir.join("t-0/page.html"), "directory of logs"),
        (home.path("0.log"), "directory of logs"),
        (link.join("page.html"), "directory of logs"),
        (link.join("t-0/../page.html"), "directory of logs"),
        (other.dir.join("t-0/page.html"), "directory of logs"),
        (out.path().to_path_buf(), "is a directory"),
        (out.path().join("missing/page.html"), "does not exist"),
    ] {
        let run = report(&home.dir, &file, &[]);
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (2, ""),
            "{}",
            file.display()
        );
        assert!(
            run.stderr.contains(said) && run.stderr.contains(file.to_str().unwrap()),
            "{}",
            run.stderr
        );
    }
    assert!(
        before
            == (
                tree::content(&home.dir),
                tree::times(&home.dir),
                tree::content(&other.dir)
            )
    );

    let file = out.path().join("page.html");
    let page = page_of(&home.dir, &[]);
    assert_eq!(report(&home.dir, &file, &[]).code, 0);
    assert_eq!(fs::read_to_string(&file).unwrap(), page);
    // A file is replaced, by way of a link too; if the page cannot be made it stays.
    fs::write(&file, "old").unwrap();
    let alias = out.path().join("alias.html");
    symlink(&file, &alias).unwrap();
    let failed = report(&out.path().join("nowhere"), &alias, &[]);
    assert_eq!(failed.code, 1, "{}", failed.stderr);
    assert!(
        failed.stderr.contains("LOG_DIR_NOT_FOUND"),
        "{}",
        failed.stderr
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "old");
    assert_eq!(report(&home.dir, &alias, &[]).code, 0);
    assert_eq!(fs::read_to_string(&file).unwrap(), page);
    assert!(fs::symlink_metadata(&alias).unwrap().is_symlink());
    let mut names: Vec<_> = fs::read_dir(out.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(
        names,
        ["alias.html", "link", "page.html"],
        "something was left"
    );
    // As readable as what a shell would make there.
    let made = out.path().join("made");
    fs::write(&made, "").unwrap();
    let mode = |path: &Path| {
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(path).unwrap().permissions())
    };
    assert_eq!(mode(&file), mode(&made));
    // A device is no file to be replaced.
    assert_eq!(report(&home.dir, Path::new("/dev/null"), &[]).code, 0);
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    assert_eq!(
        klog(["report", home.dir.to_str().unwrap()]).code,
        2,
        "without -o"
    );
}

#[test]
fn a_directory_in_use_is_reported_and_left_alone() {
    let home = two_days();
    let manager = home.open();
    let log = log(&manager, "u-0");
    append(&log, &[rec(NOW, "k", "v")]);
    let (before, times) = (tree::content(&home.dir), tree::times(&home.dir));
    let page = page_of(&home.dir, &["--verify"]);
    assert_eq!(rows(section(&parse(&page), "logs")).len(), 2);
    assert_eq!(
        tree::differences(&before, &tree::content(&home.dir)),
        [""; 0]
    );
    assert_eq!(times, tree::times(&home.dir));
    append(&log, &[rec(NOW, "k", "w")]);
    manager.close().unwrap();
}

#[test]
fn damage_is_listed_when_it_is_asked_for() {
    let fixture = fixture::extract("kafka-4.4.0-torn");
    let verdict = klog(["verify", "--json", fixture.dir.to_str().unwrap()]).stdout;
    let verdict: Value = serde_json::from_str(&verdict).unwrap();
    let flaws = verdict["flaws"].as_array().unwrap();
    let page = page_of(&fixture.dir, &["--verify"]);
    let page = parse(&page);
    let problems = text(section(&page, "problems"));
    let damages = flaws.iter().filter(|flaw| flaw["severity"] == "damage");
    let shown = damages
        .filter(|flaw| {
            problems.contains(flaw["what"].as_str().unwrap()) && {
                let file = flaw["file"]
                    .as_str()
                    .unwrap()
                    .strip_prefix(fixture.dir.to_str().unwrap())
                    .unwrap();
                problems.contains(&file[1..])
            }
        })
        .count();
    assert_eq!(shown, 50, "as many as there is room for");
    assert!(
        problems.contains(&format!("and {} more", flaws.len() - 50)),
        "{problems}"
    );
    let quiet = page_of(&fixture.dir, &[]);
    assert!(quiet.contains("Damage was not looked for"));
}

/// A log with one record in it, as cheaply as can be.
fn add_log(dir: &Path, name: &str, value: &str) {
    let partition = dir.join(name);
    fs::create_dir(&partition).unwrap();
    fs::write(
        partition.join("00000000000000000000.log"),
        v2(0, &[("k", value)]),
    )
    .unwrap();
}

#[test]
fn thousands_of_logs_make_a_page_like_any_other_in_little_memory() {
    const LOGS: usize = 2000;
    let home = Home::new();
    let long = "n".repeat(200);
    for i in 0..LOGS {
        add_log(
            &home.dir,
            &format!("{long}{}-{}", i / 10, i % 10),
            &"v".repeat(i / 10),
        );
    }
    let output = klog_in_64_mib([
        "report".as_ref(),
        home.dir.as_os_str(),
        "-o".as_ref(),
        "-".as_ref(),
    ]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(page.len() < PAGE_BYTES_MAX, "{} bytes", page.len());
    let page = parse(&page);
    let glance = text(section(&page, "glance"));
    assert!(
        glance.contains("2,000 logs of 200 topics") && glance.contains("2,000 records"),
        "{glance}"
    );
    let room = text(section(&page, "room"));
    assert!(
        room.contains("and 170 topics more with ") && room.contains("and 1,970 logs more with "),
        "{room}"
    );
    let logs = rows(section(&page, "logs"));
    assert_eq!(logs.len(), 201);
    assert!(
        logs[0][0].ends_with("199-0") && logs[200][0].starts_with("and 1,800 logs more"),
        "{:?}",
        logs[200]
    );
    let plotted = section(&page, "details")
        .children()
        .filter(|node| node.has_tag_name("article"));
    assert_eq!(plotted.count(), 12);
    let footer = page
        .descendants()
        .find(|node| node.has_tag_name("footer"))
        .unwrap();
    assert!(text(footer).contains("a row for each of the 200 largest"));
}

#[test]
fn hostile_files_take_little_memory_and_leave_a_page() {
    let home = two_days();
    for (name, len) in [
        ("48.log", 1 << 30),
        ("48.index", 10 << 30),
        ("48.timeindex", 10 << 30),
    ] {
        let file = fs::File::create(home.path(name)).unwrap();
        file.set_len(len).unwrap();
    }
    // Times and sizes that no log has.
    for (i, time) in [i64::MIN, i64::MAX, -1, 0, 1_i64 << 60]
        .into_iter()
        .enumerate()
    {
        let dir = home.dir.join(format!("odd-{i}"));
        fs::create_dir(&dir).unwrap();
        let mut batch = v2(0, &[("k", "v")]);
        // The first and the largest timestamp of the batch.
        batch[27..35].copy_from_slice(&time.to_be_bytes());
        batch[35..43].copy_from_slice(&time.to_be_bytes());
        klog::format::batch::seal(&mut batch);
        fs::write(dir.join("00000000000000000000.log"), batch).unwrap();
    }
    let output = klog_in_64_mib([
        "report".as_ref(),
        home.dir.as_os_str(),
        "-o".as_ref(),
        "-".as_ref(),
    ]);
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.code().is_some() && page.len() < PAGE_BYTES_MAX,
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let page = parse(&page);
    assert_needs_nothing(&page);
    assert!(text(section(&page, "glance")).contains(" logs of 2 topics"));
}

#[test]
fn an_empty_directory_has_a_page_that_says_so() {
    let home = Home::new();
    let page = page_of(&home.dir, &[]);
    let page = parse(&page);
    assert!(text(section(&page, "glance")).contains("There is no log in the directory."));
}

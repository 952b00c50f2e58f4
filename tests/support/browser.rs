//! A page in a browser: what it has to say, and what it asks the network for.

use std::path::Path;
use std::process::Command;

/// What was heard while a page was opened.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Loaded {
    /// What went to the console: errors, and what a policy forbade.
    pub(crate) console: Vec<String>,
    /// What was asked of the network.
    pub(crate) requests: Vec<String>,
}

/// Opens a page in headless Chromium, with no network behind it.
pub(crate) fn load(page: &str) -> Loaded {
    if super::skip::is_skipped("chromium") {
        return Loaded::default();
    }
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("page.html");
    let net_log = root.path().join("net.json");
    std::fs::write(&file, page).unwrap();
    let program = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| {
            Command::new(name)
                .arg("--version")
                .output()
                .is_ok_and(|o| o.status.success())
        })
        .unwrap_or_else(|| {
            panic!("there is no chromium; `make test` installs it, KLOG_SKIP=chromium does without")
        });
    let output = Command::new(program)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-extensions",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--enable-logging=stderr",
            "--v=0",
            "--dump-dom",
        ])
        .arg(format!(
            "--user-data-dir={}",
            root.path().join("profile").display()
        ))
        .arg(format!("--log-net-log={}", net_log.display()))
        .arg(format!("file://{}", file.display()))
        .env("HOME", root.path())
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && dom.contains("</html>"),
        "{program} did not open the page: {said}"
    );
    let console = said.lines().filter(|line| line.contains("CONSOLE"));
    Loaded {
        console: console.map(str::to_owned).collect(),
        requests: requests(&net_log),
    }
}

/// Where Chromium asks for its own sake, whatever it is told.
const OWN: [&str; 3] = [
    "//clients2.google.com/time/",
    "//update.googleapis.com/service/update2/",
    "//accounts.google.com/ListAccounts",
];

/// The addresses in a log of Chromium's network stack.
fn requests(net_log: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(net_log).unwrap();
    let mut found: Vec<String> = text
        .split("\"url\":\"")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once('"')?.0.to_owned()))
        .filter(|url| url.starts_with("http") || url.starts_with("ws"))
        .filter(|url| !OWN.iter().any(|own| url.contains(own)))
        .collect();
    found.sort();
    found.dedup();
    found
}

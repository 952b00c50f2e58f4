//! A test binary as a child process of itself: the same code in a process of its own, which can be killed. The child runs the
//! test that started it, which asks [`work_dir`] first which of the two it is. What the child says is read all the time, so
//! that it never waits.

use std::env;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

/// What tells the child where to work.
const DIR: &str = "KLOG_TEST_CHILD_DIR";

/// A running child. It hears of its end by the end of its standard input.
pub(crate) struct Worker {
    child: Child,
    said: Receiver<String>,
}

/// In the child: the directory to work in. Nothing in the parent.
pub(crate) fn work_dir() -> Option<PathBuf> {
    env::var_os(DIR).map(PathBuf::from)
}

/// In the child: waits until the parent closes the standard input.
pub(crate) fn wait_for_the_end() {
    let _ = std::io::stdin().read(&mut [0]);
}

impl Worker {
    /// Runs the test of this name, the caller's own, in a child.
    pub(crate) fn start(test: &str, dir: &Path, settings: &[(&str, String)]) -> Self {
        let program = Command::new(env::current_exe().unwrap());
        Self::start_by(program, test, dir, settings)
    }

    /// The same with file systems of its own to mount. `None`, and why, if this process may not give that.
    pub(crate) fn start_with_mounts(test: &str, dir: &Path) -> Result<Self, String> {
        let unshare = || {
            let mut unshare = Command::new("unshare");
            unshare.args(["--map-root-user", "--mount"]);
            unshare
        };
        let tried = unshare()
            .args(["mount", "-t", "tmpfs", "tmpfs"])
            .arg(dir)
            .output()
            .map_err(|e| format!("unshare: {e}"))?;
        if !tried.status.success() {
            return Err(String::from_utf8_lossy(&tried.stderr).trim().to_owned());
        }
        let mut program = unshare();
        program.arg(env::current_exe().unwrap());
        Ok(Self::start_by(program, test, dir, &[]))
    }

    fn start_by(mut program: Command, test: &str, dir: &Path, settings: &[(&str, String)]) -> Self {
        let mut child = program
            .args(["--exact", "--nocapture", "--test-threads=1", test])
            .env(DIR, dir)
            .envs(settings.iter().map(|(key, value)| (key, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, said) = channel();
        std::thread::spawn(move || {
            // Lines of the test harness are not for the parent.
            for line in output.lines().map_while(Result::ok) {
                if let Some((_, for_parent)) = line.split_once("> ") {
                    let _ = sender.send(for_parent.to_owned());
                }
            }
        });
        Self { child, said }
    }

    /// Waits for a line that the child says from now on; lines from before are passed over.
    pub(crate) fn wait_for_more(&mut self) -> String {
        let _ = self.said.try_iter().count();
        self.next_line()
    }

    /// The next line that the child says for its parent.
    pub(crate) fn next_line(&mut self) -> String {
        self.said
            .recv()
            .unwrap_or_else(|_| panic!("the child ended by itself"))
    }

    /// Tells the child to end and waits for it.
    pub(crate) fn end(mut self) {
        drop(self.child.stdin.take());
        let status = self.child.wait().unwrap();
        assert!(status.success(), "the child failed: {status}");
    }

    /// Kills the child and gives the lines that it said until then.
    pub(crate) fn kill(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        let status = self.child.wait().unwrap();
        assert!(!status.success(), "the child ended before it was killed");
        self.said.iter().collect()
    }
}

/// In the child: says a line to the parent, at once.
pub(crate) fn say(line: &str) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    // Nobody may be left to hear it.
    let _ = out
        .write_all(format!("> {line}\n").as_bytes())
        .and_then(|()| out.flush());
}

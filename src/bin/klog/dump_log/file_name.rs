//! The name of a file as Java sees it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::java::utf8;
use super::stop::{Result, Thrown};

/// A path that was typed, without the slashes that Java drops.
#[derive(Clone, Debug)]
pub(crate) struct FileName {
    path: PathBuf,
    shown: String,
}

impl FileName {
    pub(crate) fn new(typed: &[u8]) -> Self {
        let mut path = Vec::with_capacity(typed.len());
        for &byte in typed {
            if byte != b'/' || path.last() != Some(&b'/') {
                path.push(byte);
            }
        }
        if path.len() > 1 && path.last() == Some(&b'/') {
            path.pop();
        }
        let shown = utf8(&path);
        Self {
            path: PathBuf::from(OsString::from_vec(path)),
            shown,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Without the directories.
    pub(crate) fn name(&self) -> &str {
        self.shown.rsplit('/').next().unwrap_or_default()
    }

    /// From the last dot on.
    pub(crate) fn suffix(&self) -> Option<&str> {
        let name = self.name();
        name.rfind('.').map(|dot| &name[dot..])
    }

    /// Up to the first dot.
    fn stem(&self) -> &str {
        self.name().split('.').next().unwrap_or_default()
    }

    /// The offset that the name begins with.
    pub(crate) fn offset(&self) -> Result<i64> {
        Ok(parse_number(self.stem())?)
    }

    /// The file beside it with the same offset and another suffix.
    pub(crate) fn sibling(&self, suffix: &str) -> Self {
        let mut name = self.stem().to_owned();
        name.push_str(suffix);
        let path = Path::new(&self.absolute()).with_file_name(OsStr::from_bytes(name.as_bytes()));
        Self {
            shown: path.to_string_lossy().into_owned(),
            path,
        }
    }

    /// With the working directory in front, if it has no other.
    pub(crate) fn absolute(&self) -> String {
        if self.path.is_absolute() {
            return self.shown.clone();
        }
        let dir = std::env::current_dir().unwrap_or_default();
        if self.shown.is_empty() {
            return dir.display().to_string();
        }
        format!("{}/{}", dir.display(), self.shown)
    }
}

impl std::fmt::Display for FileName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown)
    }
}

/// A number as Java reads it: the whole text, with a sign or without.
pub(crate) fn parse_number<T: std::str::FromStr>(text: &str) -> std::result::Result<T, Thrown> {
    text.parse().map_err(|_| {
        Thrown::new(
            "java.lang.NumberFormatException",
            format!("For input string: \"{text}\""),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_java_makes_of_it() {
        let name = FileName::new(b"a//b/00000000000000000007.log/");
        assert_eq!(name.to_string(), "a/b/00000000000000000007.log");
        assert_eq!(name.offset().unwrap(), 7);
        assert_eq!(name.suffix(), Some(".log"));
        assert!(
            name.sibling(".index")
                .to_string()
                .ends_with("/a/b/00000000000000000007.index")
        );
        assert!(FileName::new(b"x.log").offset().is_err());
        assert_eq!(FileName::new(b"").suffix(), None);
    }
}

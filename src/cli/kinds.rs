//! What kind of file an existing one is: a command replaces no file of another kind than it writes.

use std::{fs::File, io::Read as _, path::Path};

use contrail_recording as recording;

use super::Failure;

/// A kind of file, known by how it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    /// A HAR file or a journal.
    Recording,
    /// An OpenAPI Overlay.
    Overlay,
    /// An OpenAPI document.
    Contract,
    /// A Parquet table.
    Table,
    /// Anything else.
    Other,
}

impl FileKind {
    /// The kind of a file; `None` where nothing would be lost: there is none, it is empty, or no regular file.
    pub(super) fn at(path: &Path) -> Option<Self> {
        /// Bytes of comments before the first member that are looked at.
        const LOOKED_AT: u64 = 64 << 10;
        let file = File::open(path).ok()?;
        let is_file = file.metadata().is_ok_and(|file| file.is_file());
        let mut start = Vec::new();
        file.take(LOOKED_AT).read_to_end(&mut start).ok().filter(|read| is_file && *read > 0)?;
        Some(Self::beginning(&start))
    }

    /// The kind of a file that begins like this.
    pub(super) fn beginning(start: &[u8]) -> Self {
        if start.starts_with(b"PAR1") {
            return Self::Table;
        }
        let text = String::from_utf8_lossy(start);
        let is_member = |line: &&str| !line.is_empty() && !line.starts_with('#') && *line != "---" && *line != "{";
        let first = text.trim_start_matches('\u{feff}').lines().map(str::trim).find(is_member).unwrap_or_default();
        let name = first.trim_start_matches(['{', '"', '\'', ' ', '\t']);
        match name.split(['"', '\'', ':', ' ']).next().unwrap_or_default() {
            "log" => Self::Recording,
            "overlay" => Self::Overlay,
            "openapi" | "swagger" => Self::Contract,
            _ if recording::is_journal(start) => Self::Recording,
            _ => Self::Other,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Recording => "a recording",
            Self::Overlay => "an overlay",
            Self::Contract => "an OpenAPI document",
            Self::Table => "a Parquet table",
            Self::Other => "another file",
        }
    }
}

/// Refuses to replace the file at `path` if it is of another kind than this.
///
/// # Errors
///
/// What it holds.
pub(super) fn replaces(option: &str, path: &Path, kind: FileKind) -> Result<(), Failure> {
    match FileKind::at(path).filter(|there| *there != kind && *there != FileKind::Other) {
        None => Ok(()),
        Some(there) => {
            let (path, there, kind) = (path.display(), there.name(), kind.name());
            Err(format!("{option}: `{path}` is {there}, and {kind} would replace it; name another path").into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_its_first_member() {
        for (start, expected) in [
            ("{\n  \"log\": {", FileKind::Recording),
            ("\u{feff}{\"log\":{", FileKind::Recording),
            ("{\"startedDateTime\":\"2026", FileKind::Recording),
            ("{\"_chain\":\"x\"}\n", FileKind::Recording),
            ("# mine\n\noverlay: 1.0.0\n", FileKind::Overlay),
            ("{\"overlay\":\"1.0.0\"", FileKind::Overlay),
            ("---\nopenapi: 3.1.0", FileKind::Contract),
            ("'swagger': '2.0'", FileKind::Contract),
            ("{\"contract\":{\"title\"", FileKind::Other),
            ("PAR1\u{15}", FileKind::Table),
            ("<!doctype html>", FileKind::Other),
            ("logs: 1", FileKind::Other),
        ] {
            assert_eq!(FileKind::beginning(start.as_bytes()), expected, "{start}");
        }
    }
}

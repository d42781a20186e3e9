//! The file that says how much of a trail the broker has: it saves a start from sending all of it again.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
};

use contrail_recording::private;

use super::tail::Position;

/// What it says; nothing where it is missing or cannot be read, since whatever is sent again counts once.
pub(super) fn load(path: &Path) -> Position {
    let text = fs::read_to_string(path).unwrap_or_default();
    let mut numbers = text.split_whitespace().map(str::parse);
    match (numbers.next(), numbers.next(), numbers.next()) {
        (Some(Ok(segment)), Some(Ok(offset)), None) => Position { segment, offset },
        _ => Position::default(),
    }
}

/// Replaces it. A power cut may leave the old one.
pub(super) fn store(path: &Path, at: Position) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut file = private().write(true).create(true).truncate(true).open(&new)?;
    writeln!(file, "{} {}", at.segment, at.offset)?;
    fs::rename(&new, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_is_read_again_and_anything_else_is_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sent");
        assert_eq!(load(&path), Position::default());
        let at = Position { segment: 3, offset: 1 << 40 };
        store(&path, at).unwrap();
        assert_eq!(load(&path), at);
        for text in ["", "3", "3 x", "3 4 5", "-1 0", "{}"] {
            fs::write(&path, text).unwrap();
            assert_eq!(load(&path), Position::default(), "{text}");
        }
    }
}

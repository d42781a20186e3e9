//! What a fixture's journal holds: entries, at most one torn line of a killed process, and lines about its own fold.
//!
//! ```text
//! {"_trail":"…/trail-00000001.journal"}        the fixture is to be folded from this segment of a trail, too
//! {"_fold":{"renews":"everything"}}            first: the recording replaces entries of the fixture
//! {"_fold":{"ended":true}}                     the recording is whole
//! {"_fold":{"har":"…","sha256":"…"}}           the fixture is about to be replaced by this one
//! {"_fold":{"done":true}}                      the fixture holds the journal's entries
//! ```

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{
    lines::{FOLD, SEGMENT, is_entry},
    pending,
};
use crate::{
    Renew, Scope, WriteError,
    disk::{failed_to, file_digest},
};

/// Which entries of a fixture a killed recording was to replace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renewal {
    /// Those of these; `None` for all.
    pub scopes: Option<Vec<Scope>>,
}

impl Renewal {
    /// The same, as a fold takes it.
    #[must_use]
    pub fn renew(&self) -> Renew<'_> {
        self.scopes.as_deref().map_or(Renew::Everything, Renew::Of)
    }
}

/// What a journal holds.
#[derive(Debug, Default)]
pub(crate) struct Account {
    /// Whole entries.
    pub(super) entries: usize,
    /// Bytes of its whole lines, and of a torn one behind them.
    pub(super) whole: u64,
    pub(super) torn: u64,
    /// The segments that it names.
    pub(super) segments: Vec<PathBuf>,
    pub(super) renewal: Option<Renewal>,
    /// The recording was whole.
    pub(super) ended: bool,
    /// The journal's last line.
    last: Option<Fold>,
}

/// What was in a journal already when it was opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leftover {
    /// Whole entries that are in no fixture.
    pub entries: usize,
    /// Entries of the fixture that they were to replace; `None` if they are only added.
    pub renewal: Option<Renewal>,
    /// The recording was whole: it was killed while it was folded.
    pub ended: bool,
    /// Bytes of a torn last line, dropped.
    pub torn: u64,
    /// Lines of a trail behind its last link, which now covers them.
    pub adopted: usize,
}

/// What the journal at `path` holds, after a torn last line of the open `file` was cut off.
pub(super) fn cut(path: &Path, file: &File) -> Result<Account, WriteError> {
    let account = Account::read(path).map_err(failed_to("read", path))?;
    if account.torn > 0 {
        file.set_len(account.whole).map_err(failed_to("read", path))?;
    }
    Ok(account)
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Line {
    #[serde(rename = "_fold")]
    fold: Fold,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Fold {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    har: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    renews: Option<Renews>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    ended: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    done: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Renews {
    Scopes(Vec<String>),
    /// `everything`.
    Word(String),
}

/// The line of a recording that replaces entries; `None` for one that only adds.
pub(crate) fn renews(renew: Renew<'_>) -> io::Result<Option<Vec<u8>>> {
    let renews = match renew {
        Renew::Nothing | Renew::Requests | Renew::Missing => return Ok(None),
        Renew::Of(list) => Renews::Scopes(list.iter().map(ToString::to_string).collect()),
        Renew::Everything => Renews::Word("everything".to_owned()),
    };
    line(Fold { renews: Some(renews), ..Fold::default() }).map(Some)
}

/// The line of a recording that is whole.
pub(crate) fn ended() -> io::Result<Vec<u8>> {
    line(Fold { ended: true, ..Fold::default() })
}

/// The line of a journal whose fixture `har` is about to be replaced by one of this digest.
pub(crate) fn folding(har: &Path, sha256: &str) -> io::Result<Vec<u8>> {
    let har = std::path::absolute(har)?;
    line(Fold { har: Some(har), sha256: Some(sha256.to_owned()), ..Fold::default() })
}

/// The line of a journal that was folded.
pub(crate) fn done() -> io::Result<Vec<u8>> {
    line(Fold { done: true, ..Fold::default() })
}

fn line(fold: Fold) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(&Line { fold })?;
    line.push(b'\n');
    Ok(line)
}

impl Account {
    /// Reads the journal at `path`.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let mut input = BufReader::with_capacity(256 << 10, File::open(path)?);
        let (mut account, mut line) = (Self::default(), Vec::new());
        loop {
            line.clear();
            let bytes = input.read_until(b'\n', &mut line)? as u64;
            if bytes == 0 || !line.ends_with(b"\n") {
                account.torn = bytes;
                return Ok(account);
            }
            account.whole += bytes;
            account.entries += usize::from(is_entry(&line));
            if line.starts_with(SEGMENT) {
                account.segments.push(pending::named_in(&line)?);
            }
            let fold = if line.starts_with(FOLD) { serde_json::from_slice::<Line>(&line).ok() } else { None };
            account.last = fold.map(|line| line.fold);
            let Some(fold) = &mut account.last else { continue };
            if let Some(renews) = fold.renews.take() {
                let scopes = if let Renews::Scopes(list) = renews { Some(list) } else { None };
                let scopes = scopes.map(|list| list.iter().filter_map(|scope| scope.parse().ok()).collect());
                account.renewal = Some(Renewal { scopes });
                account.ended = false;
            }
            account.ended |= fold.ended;
        }
    }

    /// Whether the journal's entries are in its fixture.
    pub(crate) fn is_folded(&self) -> bool {
        match &self.last {
            Some(Fold { done: true, .. }) => true,
            Some(Fold { har: Some(har), sha256: Some(sha256), .. }) => {
                File::open(har).and_then(|mut har| file_digest(&mut har)).is_ok_and(|found| found == *sha256)
            }
            _ => false,
        }
    }
}

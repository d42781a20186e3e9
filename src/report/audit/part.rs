//! Parts of an audit: what the audit of some of the recordings collected, in a file, and several of them put together.
//!
//! ```text
//! {"contrailPart":1,"contrail":"0.1.0","contract":"…","options":[…],"sha256":"…"}   of the next line
//! {"parts":1,"files":[…],"tally":{…},"callers":{…},"waits":{…},"trails":[…],…}
//! ```
//!
//! A part holds what reports of its recordings show, redacted as they are, and what depends on other parts: the first
//! calls of each client, operation and origin, which a 429 of an earlier part may be about, and the ends of the chains.
//! Parts that are put together give the audit of all their recordings, in their order. Where a bound or a secret leaves
//! that open, the audit lists it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

use super::{
    caller::{Caller, Calls},
    collected::{Audit, is_beyond},
    waits::{Change, Limit, Waits},
};
use crate::{
    coverage::TimesTouched,
    hex::hex,
    plural::plural,
    report::{
        Integrity, Tally, TrailLink,
        cited::{Cited, Stamp},
        first::First,
    },
};

/// The version of the format.
const VERSION: u32 = 1;

/// What a part is of, its first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    #[serde(rename = "contrailPart")]
    version: u32,
    contrail: String,
    #[serde(default)]
    contract: String,
    #[serde(default)]
    options: Vec<String>,
    #[serde(default)]
    sha256: String,
}

/// What an audit collected over some of its recordings.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Part {
    /// Parts that were put together for it; 1 if it was made of recordings.
    parts: usize,
    files: Vec<String>,
    unproven: Vec<String>,
    trails: Vec<(Integrity, Option<Box<TrailLink>>)>,
    left_out: u64,
    unreadable: u64,
    first: Option<Stamp>,
    last: Option<Stamp>,
    tally: Tally,
    coverage: TimesTouched,
    callers: BTreeMap<String, Caller>,
    waits: Waits,
    /// Values that were recognised as secrets.
    secrets: u64,
    evicted: u64,
}

/// Why a part cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartError {
    /// The file does not begin as a part.
    NoPart,
    /// The file is not as contrail wrote it.
    Damaged,
    /// It is of this version of the format, or of contrail.
    OtherVersion(String),
    /// It was made with the contract of this hash.
    OtherContract(String),
    /// It was made with these options.
    OtherOptions(Vec<String>),
    /// An earlier part holds a recording of this name.
    Repeated(String),
    /// The trail of this name is in an earlier part, too, and cannot be joined.
    Trail(String),
}

impl fmt::Display for PartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPart => f.write_str("it is not a part of an audit; `contrail audit --partial OUT FILE…` writes one"),
            Self::Damaged => {
                f.write_str("it is not as contrail wrote it (cut off or altered); write it again with --partial")
            }
            Self::OtherVersion(version) => {
                let own = env!("CARGO_PKG_VERSION");
                write!(f, "{version} wrote it, and this is contrail {own}; write and merge all parts with one version")
            }
            Self::OtherContract(hash) => write!(
                f,
                "it was made with another contract ({hash}); give --merge the --contract and --overlay of --partial"
            ),
            Self::OtherOptions(options) if options.is_empty() => f.write_str(
                "it was made without options, and this merge has some that choose or judge exchanges; give all the same",
            ),
            Self::OtherOptions(options) => {
                write!(f, "it was made with `{}`, and this merge was not; give all the same options", options.join(" "))
            }
            Self::Repeated(file) => write!(
                f,
                "an earlier part has the recording `{file}`, too; name each part once, and each recording in one part"
            ),
            Self::Trail(trail) => write!(
                f,
                "an earlier part has segments of the trail `{trail}`, too, and nothing shows that these follow them; name the \
                 parts in the order of the segments, or audit all of that trail in one part"
            ),
        }
    }
}

impl std::error::Error for PartError {}

impl Head {
    fn new(contract: &str, options: &[String]) -> Self {
        Self {
            version: VERSION,
            contrail: env!("CARGO_PKG_VERSION").to_owned(),
            contract: contract.to_owned(),
            options: options.to_vec(),
            sha256: String::new(),
        }
    }
}

impl Part {
    /// Reads the text of a part, made with the contract of this hash and with these options.
    ///
    /// # Errors
    ///
    /// The text is no part, or was made with another version, contract or options.
    pub fn parse(text: &str, contract: &str, options: &[String]) -> Result<Self, PartError> {
        let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
        let head: Head = serde_json::from_str(first).map_err(|_| PartError::NoPart)?;
        let own = Head::new(contract, options);
        if head.version != own.version {
            return Err(PartError::OtherVersion(format!("a contrail with version {} of the format", head.version)));
        }
        if head.contrail != own.contrail {
            return Err(PartError::OtherVersion(format!("contrail {}", head.contrail)));
        }
        if head.sha256 != digest_of(rest) {
            return Err(PartError::Damaged);
        }
        if head.contract != own.contract {
            return Err(PartError::OtherContract(head.contract));
        }
        if head.options != own.options {
            return Err(PartError::OtherOptions(head.options));
        }
        serde_json::from_str(rest).map_err(|_| PartError::Damaged)
    }

    /// How many exchanges it counts, and in how many recordings.
    #[must_use]
    pub fn size(&self) -> (u64, usize) {
        (self.tally.exchanges, self.files.len())
    }

    /// The text of the part; as for [`Part::parse`].
    ///
    /// # Errors
    ///
    /// None that a part of an audit gives.
    pub fn text(&self, contract: &str, options: &[String]) -> serde_json::Result<String> {
        let rest = serde_json::to_string(self)? + "\n";
        let head = Head { sha256: digest_of(&rest), ..Head::new(contract, options) };
        Ok(serde_json::to_string(&head)? + "\n" + &rest)
    }

    /// Applies what the waits of earlier parts change; gives what concerns callers that this part does not have.
    fn amend(&mut self, changes: Vec<(Limit, Change)>) -> Vec<(Limit, Change)> {
        let place: BTreeMap<&str, usize> = self.files.iter().map(String::as_str).zip(0..).collect();
        let order = |cited: &Cited| (cited.at, place.get(&*cited.source).copied(), cited.entry);
        let mut others = Vec::new();
        for (limit, mut change) in changes {
            let Some(calls) =
                self.callers.get_mut(&limit.caller()).and_then(|caller| caller.calls.get_mut(&*limit.operation))
            else {
                others.push((limit, change));
                continue;
            };
            if let Some(first) = change.first.take()
                && calls.first_early.as_ref().is_none_or(|held| order(&first) < order(held))
            {
                calls.first_early = Some(First::new(first));
            }
            amend(calls, &change);
        }
        others
    }
}

impl Audit {
    /// What was collected, as a part; a redactor recognised so many secrets, besides those of parts that were added.
    #[must_use]
    pub fn into_part(self, secrets: u64) -> Part {
        let trails = self.run.integrity.into_iter().map(|mut one| {
            let link = one.link.take();
            (one, link)
        });
        Part {
            parts: self.parts.max(1),
            files: self.files,
            unproven: self.unproven,
            trails: trails.collect(),
            left_out: self.left_out,
            unreadable: self.unreadable,
            first: self.first.map(Stamp),
            last: self.last.map(Stamp),
            tally: self.tally,
            coverage: self.coverage.times(),
            callers: self.callers,
            waits: self.waits,
            secrets: self.secrets + secrets,
            evicted: self.run.evicted,
        }
    }

    /// Adds a part, whose recordings come after those that were read so far.
    ///
    /// # Errors
    ///
    /// A recording or a trail is in two parts.
    pub fn add(&mut self, mut part: Part) -> Result<(), PartError> {
        let held: BTreeSet<&String> = self.files.iter().collect();
        if let Some(file) = part.files.iter().find(|file| held.contains(file)) {
            return Err(PartError::Repeated(file.clone()));
        }
        self.add_trails(&part.trails)?;
        self.parts += part.parts;
        self.secrets += part.secrets;
        self.run.evicted += part.evicted;
        let changes = self.waits.merge(std::mem::take(&mut part.waits));
        let others = part.amend(changes);
        self.left_out += part.left_out;
        self.unreadable += part.unreadable;
        self.first = self.first.into_iter().chain(part.first.map(|Stamp(at)| at)).min();
        self.last = self.last.max(part.last.map(|Stamp(at)| at));
        self.tally.merge(part.tally);
        self.coverage.add(&part.coverage);
        for (name, caller) in part.callers {
            self.caller(name).merge(caller);
        }
        for (limit, change) in others {
            let caller = self.callers.get_mut(&self.listed_name(limit.caller()));
            if let Some(calls) = caller.and_then(|caller| caller.calls.get_mut(&*limit.operation)) {
                amend(calls, &change);
            }
        }
        self.unproven.append(&mut part.unproven);
        self.files.append(&mut part.files);
        Ok(())
    }

    /// Adds the trails of a part. Segments that follow those of an earlier part are of one trail.
    fn add_trails(&mut self, trails: &[(Integrity, Option<Box<TrailLink>>)]) -> Result<(), PartError> {
        let before = self.files.len();
        let earlier = self.run.integrity.len();
        for at in 0..trails.len() {
            let (mut trail, mut link) = trails[at].clone();
            if let Some(link) = &mut link {
                link.sources.0 += before;
            }
            trail.link = link;
            let id = trail.id.clone();
            let is_same = |other: &Integrity| id.is_some() && other.id == id;
            let mut held = self.run.integrity[..earlier].iter_mut().filter(|held| is_same(held));
            match (held.next(), held.next()) {
                (None, _) => self.run.integrity.push(trail),
                (Some(held), None) if trails.iter().filter(|(other, _)| is_same(other)).count() == 1 => {
                    if !held.join(&trail) {
                        return Err(PartError::Trail(trail.trail));
                    }
                }
                _ => return Err(PartError::Trail(trail.trail)),
            }
        }
        Ok(())
    }

    /// What the parts do not decide as one audit of all recordings would, a sentence each.
    pub(super) fn unmerged(&self) -> Vec<String> {
        if self.parts < 2 {
            return Vec::new();
        }
        let further = self.callers.values().any(Caller::is_full);
        let beyond = self.callers.keys().any(|name| is_beyond(name));
        let secrets = format!(
            "whether a text of one part holds a secret of another ({}); each part numbers its labels",
            plural(self.secrets, "secret")
        );
        let quotes = format!(
            "request and response of {}, which no part holds",
            plural(self.tally.unquoted(), "finding's first exchange")
        );
        let all = [
            (self.secrets > 0, secrets),
            (self.tally.ungrouped > 0, "which findings are at further places".to_owned()),
            (self.tally.unquoted() > 0, quotes),
            (beyond, "which callers are counted together".to_owned()),
            (further, "which scopes of a caller are further ones".to_owned()),
            (self.waits.in_doubt(), "some calls after a 429 of another part".to_owned()),
        ];
        all.into_iter().filter(|(applies, _)| *applies).map(|(_, sentence)| sentence).collect()
    }
}

/// Applies what the waits of earlier parts change to the counts of calls.
fn amend(calls: &mut Calls, change: &Change) {
    calls.early = calls.early.saturating_add_signed(change.early);
    calls.early_unchecked = calls.early_unchecked.saturating_add_signed(change.unchecked);
}

fn digest_of(text: &str) -> String {
    hex(digest(&SHA256, text.as_bytes()).as_ref())
}

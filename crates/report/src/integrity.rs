//! Whether a trail is as it was written: the result of the check of its hash chain, for every report.

use std::{collections::BTreeSet, fmt::Write as _};

use contrail_exchange::plural::plural;
use contrail_recording::{Broken, Checked, ClockSteps, Unrecorded};
use serde::Serialize;

use super::Screen;

/// Maximum clauses of one kind that a sentence lists.
const MAX_LISTED: usize = 20;

/// The result of the check of one trail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Integrity {
    /// The trail, as it was named.
    pub trail: String,
    /// Entries that its chain covers; `None` where it has no chain.
    pub entries: Option<u64>,
    /// The trail's id, as far as it is known.
    pub id: Option<String>,
    /// Whole lines after the chain's last link.
    pub unsealed: u64,
    /// The chain's end.
    pub head: Option<String>,
    /// Whether segments were named by themselves, so that their neighbours are not checked.
    pub part: bool,
    /// Heads kept elsewhere that the chain goes through; `None` where none were given.
    pub kept_heads: Option<u64>,
    /// What was altered, removed or moved, and where.
    pub broken: Option<String>,
    /// Exchanges that could not be recorded, as the chain states.
    pub unrecorded: Vec<Unrecorded>,
    /// Lines that a later process adopted, so that nothing shows who wrote them.
    pub adopted: u64,
    /// How often the clock went back while it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_back: Option<ClockSteps>,
    /// Files in the trail's folder that are no recording, so that nothing reads them.
    pub unread: Vec<String>,
    /// Hours in which other trails have exchanges and this one has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_recorded: Vec<NotRecorded>,
    /// Its recordings, for the comparison of trails.
    #[serde(skip)]
    pub link: Option<Box<TrailLink>>,
}

/// A span of hours in which a trail has no exchange and others have some.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotRecorded {
    /// The beginning of the first hour.
    pub from: String,
    /// The end of the last one.
    pub to: String,
    /// How many other trails have an exchange in it.
    pub trails: u64,
}

/// The recordings of a trail, and when their exchanges started.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrailLink {
    /// Its recordings among all that are read: how many are before them, and how many they are.
    pub sources: (usize, usize),
    /// The hours since 1970 in which exchanges of it started.
    pub hours: BTreeSet<u64>,
    /// There are more of them than are held.
    pub more_hours: bool,
}

impl Integrity {
    /// Of a trail whose chain was checked (`None`: it has none). `held` states whether kept heads were given.
    #[must_use]
    pub fn new(trail: String, checked: Option<&Checked>, held: bool) -> Self {
        Self {
            trail,
            entries: checked.map(|checked| checked.entries),
            id: checked.map(|checked| checked.head.trail.clone()).filter(|id| !id.is_empty()),
            unsealed: checked.map_or(0, |checked| checked.unsealed),
            head: checked.map(|checked| checked.head.hash.clone()),
            part: checked.is_some_and(|checked| checked.part),
            kept_heads: checked.filter(|_| held).map(|checked| checked.kept_heads),
            broken: checked.and_then(|checked| checked.broken.as_ref()).map(Broken::to_string),
            unrecorded: checked.map(|checked| checked.unrecorded.clone()).unwrap_or_default(),
            adopted: checked.map_or(0, |checked| checked.adopted),
            clock_back: checked.and_then(|checked| checked.clock.back.clone()),
            unread: Vec::new(),
            not_recorded: Vec::new(),
            link: None,
        }
    }

    /// Of a journal without a chain that states exchanges that could not be recorded.
    #[must_use]
    pub fn unrecorded(journal: String, unrecorded: Unrecorded) -> Self {
        Self { unrecorded: vec![unrecorded], ..Self::new(journal, None, false) }
    }

    /// One sentence for people.
    #[must_use]
    pub fn sentence(&self) -> String {
        self.sentence_on(Screen::default())
    }

    /// The same, as short as the screen wants it.
    #[must_use]
    pub fn sentence_on(&self, screen: Screen) -> String {
        let trail = &self.trail;
        let missing = self.missing();
        if let Some(broken) = &self.broken {
            return format!("ALTERED: {broken}{missing}");
        }
        let Some(entries) = self.entries else {
            let why = if self.unread.is_empty() {
                "has no chain: nothing proves that it is unaltered"
            } else {
                "holds no readable segment, so contrail checked nothing of it"
            };
            return format!("`{trail}` {why}{missing}");
        };
        let kept = self.kept_heads.map(|heads| format!(", through {}", plural(heads, "kept head")));
        let part = if self.part { "; the segments before and after those that were named are unchecked" } else { "" };
        format!(
            "the chain of `{trail}` is intact: {}, {} after its last link, head {}{}{part}{missing}",
            plural(entries, "entry"),
            plural(self.unsealed, "line"),
            screen.hash(self.head.as_deref().unwrap_or_default()),
            kept.unwrap_or_default()
        )
    }

    /// What the trail does not hold, and what was not read.
    fn missing(&self) -> String {
        let mut text = String::new();
        text.extend(self.adoption().into_iter().chain(self.clock()).flat_map(|clause| ["; ".to_owned(), clause]));
        let clauses = [self.lost().collect(), self.not_recorded().collect(), self.unread().collect::<Vec<_>>()];
        for clause in clauses.iter().flat_map(|clauses| clauses.iter().take(MAX_LISTED)) {
            let _ = write!(text, "; {clause}");
        }
        let more = clauses.map(|clauses| clauses.len()).map(|count| count.saturating_sub(MAX_LISTED));
        if more.iter().any(|count| *count > 0) {
            let _ = write!(text, "; and {} more", more.iter().sum::<usize>());
        }
        text
    }

    /// The exchanges that could not be recorded, a clause for each time.
    pub(super) fn lost(&self) -> impl Iterator<Item = String> {
        self.unrecorded.iter().map(|lost| {
            let exchanges = plural(lost.exchanges, "exchange");
            format!("NOT RECORDED: {exchanges} from {:.3} to {:.3}", lost.from, lost.to)
        })
    }

    /// The lines that a later process adopted, in a clause.
    pub(super) fn adoption(&self) -> Option<String> {
        let lines = plural(self.adopted, "line");
        (self.adopted > 0).then(|| format!("{lines} ADOPTED by a later start, so that nothing shows who wrote them"))
    }

    /// That the clock went back, in a clause.
    pub(super) fn clock(&self) -> Option<String> {
        let ClockSteps { times, from, to } = self.clock_back.as_ref()?;
        let at_most = if *times == 1 { "" } else { ", at most" };
        Some(format!("THE CLOCK WENT BACK {}{at_most} from {from:.3} to {to:.3}", plural(*times, "time")))
    }

    /// How many exchanges could not be recorded.
    pub(super) fn count_of_unrecorded(&self) -> u64 {
        self.unrecorded.iter().map(|lost| lost.exchanges).sum()
    }

    /// The hours in which other trails have exchanges and this one has none, a clause for each span.
    pub(super) fn not_recorded(&self) -> impl Iterator<Item = String> {
        self.not_recorded.iter().map(|NotRecorded { from, to, trails }| {
            let have =
                if *trails == 1 { "1 other trail has".to_owned() } else { format!("{trails} other trails have") };
            format!("not recorded: no exchange from {from} to {to}, where {have} some")
        })
    }

    /// The files that nothing reads, a clause for each.
    pub(super) fn unread(&self) -> impl Iterator<Item = String> {
        self.unread.iter().map(|file| format!("`{file}` is not read{}", unpacking(file)))
    }
}

/// What to do about a file that was not read.
fn unpacking(file: &str) -> String {
    let tool = [(".gz", "gunzip"), (".zst", "unzstd"), (".xz", "unxz"), (".bz2", "bunzip2"), (".zip", "unzip")];
    let tool = tool.into_iter().find(|(ending, _)| file.to_ascii_lowercase().ends_with(ending));
    tool.map_or_else(String::new, |(_, tool)| format!(" ({tool} it first)"))
}

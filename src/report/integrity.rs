//! Whether a trail is as it was written: the result of the check of its hash chain, for every report.

use serde::Serialize;

use crate::{
    plural::plural,
    recording::{Broken, Checked},
};

/// The result of the check of one trail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Integrity {
    /// The trail, as it was named.
    pub trail: String,
    /// Entries that its chain covers; `None` where it has no chain.
    pub entries: Option<u64>,
    /// Whole lines after the chain's last link.
    pub unsealed: u64,
    /// The chain's end.
    pub head: Option<String>,
    /// Whether only one segment was named, so that its neighbours are not checked.
    pub part: bool,
    /// Heads kept elsewhere that the chain goes through; `None` where none were given.
    pub kept_heads: Option<u64>,
    /// What was altered, removed or moved, and where.
    pub broken: Option<String>,
}

impl Integrity {
    /// Of a trail whose chain was checked (`None`: it has none). `held` states whether kept heads were given.
    #[must_use]
    pub fn new(trail: String, checked: Option<&Checked>, held: bool) -> Self {
        Self {
            trail,
            entries: checked.map(|checked| checked.entries),
            unsealed: checked.map_or(0, |checked| checked.unsealed),
            head: checked.map(|checked| checked.head.hash.clone()),
            part: checked.is_some_and(|checked| checked.part),
            kept_heads: checked.filter(|_| held).map(|checked| checked.kept_heads),
            broken: checked.and_then(|checked| checked.broken.as_ref()).map(Broken::to_string),
        }
    }

    /// One sentence for people.
    #[must_use]
    pub fn sentence(&self) -> String {
        let trail = &self.trail;
        if let Some(broken) = &self.broken {
            return format!("ALTERED: {broken}");
        }
        let Some(entries) = self.entries else {
            return format!("`{trail}` has no chain: nothing proves that it is as it was written");
        };
        let kept = self.kept_heads.map(|heads| format!(", through {}", plural(heads, "kept head")));
        let part = if self.part {
            "; it is one segment by itself: what comes before it and after it is not checked"
        } else {
            ""
        };
        format!(
            "the chain of `{trail}` is whole: {}, {} after its last link, head {}{}{part}",
            plural(entries, "entry"),
            self.unsealed,
            self.head.as_deref().unwrap_or_default(),
            kept.unwrap_or_default()
        )
    }
}

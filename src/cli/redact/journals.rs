//! `contrail redact` on journals and trails. A trail is not redacted in place: its hash chain proves that nobody
//! changed a line. A copy has a chain of its own.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    args::Args,
    item::{Destination, Item},
};
use crate::{
    cli::{
        ContractArgs, Failure,
        printer::line,
        verify::{Judge, report_torn},
    },
    exchange::Exchange,
    plural::plural,
    recording::{self, ChainHead, Check, Note, Rewriter},
    redact::Redactor,
};

/// The journals and trails among the files.
#[derive(Default)]
pub(super) struct Journals {
    trails: Vec<Trail>,
    /// Journals without a chain.
    plain: Vec<PathBuf>,
}

/// A trail, or a segment by itself.
struct Trail {
    name: PathBuf,
    segments: Vec<PathBuf>,
    /// The end of its chain, and the end of the copy's chain.
    heads: (ChainHead, ChainHead),
}

impl Journals {
    /// Finds the journals, and checks the chains of trails. A trail is refused if it was altered, since the new chain
    /// would hide that, and if it is to be changed in place.
    pub(super) fn check(args: &Args, items: &mut [Item]) -> Result<Self, Failure> {
        let mut journals = Self::default();
        let all = texts(items);
        for (name, segments, whole) in candidates(args, items, &all) {
            let texts: Vec<(PathBuf, &[u8])> =
                segments.iter().filter_map(|segment| Some((segment.clone(), *all.get(segment.as_path())?))).collect();
            let Some(checked) = recording::check_texts(&texts, whole) else {
                journals.plain.extend(segments);
                continue;
            };
            let shown = name.display();
            if args.in_place {
                return Err(format!(
                    "`{shown}` is a trail, and its hash chain proves that nobody changed it, so contrail does not redact it \
                     in place; write a copy with a chain of its own: `contrail redact {shown} --out PATH`"
                )
                .into());
            }
            refuse_over_trail(items, &segments)?;
            if whole {
                refuse_in_trail(args, &segments)?;
            }
            if let Some(broken) = checked.broken {
                return Err(format!("{broken}; nothing was written, since the copy's chain would hide that").into());
            }
            journals.trails.push(Trail { name, segments, heads: (checked.head, ChainHead::default()) });
        }
        // The file whose lock says who writes the trail is no part of a copy.
        for item in items.iter_mut().filter(|item| recording::is_trail_lock(&item.path)) {
            if journals.trails.iter().any(|trail| trail.is_beside(&item.path)) {
                item.target = Destination::Nowhere;
            }
        }
        Ok(journals)
    }

    /// The new text of each journal and each segment.
    pub(super) fn rewrite(
        &mut self,
        items: &[Item],
        redactor: &Redactor,
        contract: &ContractArgs,
    ) -> Result<BTreeMap<PathBuf, Vec<u8>>, Failure> {
        let mut all = BTreeMap::new();
        if self.trails.is_empty() && self.plain.is_empty() {
            return Ok(all);
        }
        let texts = texts(items);
        let judge = Judge::new(contract.load()?, Duration::ZERO, None);
        // As `verify` will judge the entry, without what is attested.
        let check = |exchange: &Exchange| judge.verdict(&mut exchange.clone(), Some(&Note::default()));
        let check = Check { contract: judge.contract.hash(), check: &check };
        let plain: Vec<&[PathBuf]> = self.plain.iter().map(std::slice::from_ref).collect();
        let mut write = |segments: &[PathBuf]| -> Result<ChainHead, Failure> {
            // Once to learn every secret that only the structure of an entry shows, then in earnest.
            for learns in [true, false] {
                let mut rewriter = Rewriter::new(redactor, check);
                for segment in segments {
                    let rewritten =
                        rewriter.segment(segment, texts.get(segment.as_path()).copied().unwrap_or_default())?;
                    if !learns {
                        report_torn(segment, rewritten.torn);
                        all.insert(segment.clone(), rewritten.text);
                    }
                }
                if !learns {
                    return Ok(rewriter.head().clone());
                }
            }
            Ok(ChainHead::default())
        };
        for journal in plain {
            write(journal)?;
        }
        for trail in &mut self.trails {
            trail.heads.1 = write(&trail.segments)?;
        }
        Ok(all)
    }

    /// Prints the heads of each trail and of its copy.
    pub(super) fn print(&self) {
        for Trail { name, heads: (old, new), .. } in &self.trails {
            line(&format!(
                "the copy of {} has a chain of its own, with the head {} after {}; the head of the original is {}",
                name.display(),
                new.hash,
                plural(new.seq, "link"),
                old.hash
            ));
        }
    }
}

/// Refuses to write a copy over the trail itself, or among the segments of another one.
fn refuse_over_trail(items: &[Item], segments: &[PathBuf]) -> Result<(), Failure> {
    let segments: HashSet<&PathBuf> = segments.iter().collect();
    let mut folders = HashSet::new();
    for item in items.iter().filter(|item| segments.contains(&item.path)) {
        let Destination::File(to) = &item.target else { continue };
        let is_taken = folders.insert(to.parent()) && recording::is_in_trail(to);
        if is_taken || recording::resolved(to) == recording::resolved(&item.path) {
            let to = to.display();
            return Err(
                format!("--out: `{to}` belongs to a trail, whose chain the copy would break; name another").into()
            );
        }
    }
    Ok(())
}

/// Refuses to write a copy into a folder of the trail, where it would be read with the trail.
fn refuse_in_trail(args: &Args, segments: &[PathBuf]) -> Result<(), Failure> {
    let Some(out) = &args.out else { return Ok(()) };
    let place = recording::resolved(out);
    let folders: HashSet<&Path> = segments.iter().filter_map(|segment| segment.parent()).collect();
    let Some(folder) = folders.into_iter().find(|folder| place.starts_with(recording::resolved(folder))) else {
        return Ok(());
    };
    let (out, folder) = (out.display(), folder.display());
    Err(format!("--out: `{out}` is in the folder of the trail `{folder}`; name a folder elsewhere").into())
}

impl Trail {
    /// Whether the file is in a folder of its segments.
    fn is_beside(&self, path: &Path) -> bool {
        self.segments.iter().any(|segment| segment.parent() == path.parent())
    }
}

/// What may be a trail or a journal: its name, its files in order, and whether these are all of it.
fn candidates(args: &Args, items: &[Item], texts: &Texts<'_>) -> Vec<(PathBuf, Vec<PathBuf>, bool)> {
    let mut found: Vec<(PathBuf, Vec<PathBuf>, bool)> = Vec::new();
    for folder in args.files.iter().filter(|named| named.is_dir()) {
        // A folder without a recording has no trail.
        let trails = recording::find(folder).map_or_else(|_| Vec::new(), |found| found.trails);
        found.extend(trails.into_iter().map(|trail| (trail.name, trail.segments, trail.whole)));
    }
    let known: HashSet<PathBuf> = found.iter().flat_map(|(_, segments, _)| segments).cloned().collect();
    for item in items {
        if !known.contains(&item.path) && recording::is_journal(&item.content.bytes) {
            found.push((item.path.clone(), vec![item.path.clone()], false));
        }
    }
    found.retain(|(_, segments, _)| segments.iter().all(|segment| texts.contains_key(segment.as_path())));
    found
}

/// The files' texts, by their paths.
type Texts<'a> = HashMap<&'a Path, &'a [u8]>;

fn texts(items: &[Item]) -> Texts<'_> {
    items.iter().map(|item| (item.path.as_path(), &item.content.bytes[..])).collect()
}

//! The trails among the recordings that commands read: each chain is checked by itself, and held to the
//! kept heads that are its own.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
};

use contrail_exchange::plural::plural;
use contrail_recording::{self as recording, Broken, ChainHead, Checked, KeptHeads, TrailFiles};
use contrail_report::{Integrity, TrailLink};

use super::{
    Failure,
    printer::warn,
    remote::shown,
    sources::{File, recordings},
};

/// One thing that was named, after its chains were checked.
pub(super) struct Inspected {
    pub(super) name: PathBuf,
    /// Its trails, and its journals that have no chain.
    pub(super) trails: Vec<Integrity>,
    /// Its recordings that are no journal, so that nothing proves them.
    pub(super) others: Vec<PathBuf>,
    /// An earlier argument names some of its trails, too.
    pub(super) repeated: bool,
    /// All its recordings, to be read.
    pub(super) sources: Vec<Source>,
}

/// A recording to be read.
pub(super) struct Source {
    pub(super) path: PathBuf,
    /// Its bytes when its chain was checked; a live trail has grown since.
    pub(super) length: Option<u64>,
    /// A chain covers it.
    pub(super) chained: bool,
    /// Its trail was altered, so that it may not be readable.
    pub(super) altered: bool,
}

impl Source {
    /// Its name in output.
    pub(super) fn name(&self) -> String {
        shown(&self.path)
    }

    /// Its bytes, as far as they are known.
    pub(super) fn size(&self) -> u64 {
        self.length.unwrap_or_else(|| recording::size_of(&self.path))
    }
}

/// What an argument names, its trails with their ids.
struct Argument<'a> {
    path: &'a Path,
    trails: Vec<(TrailFiles, Option<String>)>,
    others: Vec<PathBuf>,
    repeated: bool,
}

/// Checks the trails among these recordings against the heads that these files keep. Refuses what is of one trail and
/// in several places.
pub(super) fn inspect(named: &[PathBuf], heads: &[PathBuf]) -> Result<Vec<Inspected>, Failure> {
    let heads = heads.iter().map(|file| kept_heads(file)).collect::<Result<Vec<_>, Failure>>()?;
    let arguments = arguments(named)?;
    if let Some(plain) = arguments.iter().find(|one| one.trails.is_empty() && !one.repeated && !heads.is_empty()) {
        return Err(no_trail(plain.path));
    }
    let trails = || arguments.iter().flat_map(|argument| &argument.trails);
    let mut by_id: HashMap<&str, &Path> = HashMap::new();
    for (trail, id) in trails() {
        if let Some(other) = id.as_deref().and_then(|id| by_id.insert(id, &trail.name)) {
            return Err(format!(
                "`{}` and `{}` are of one trail; keep all its segments in one folder, without copies, and name that folder",
                shown(other),
                shown(&trail.name)
            )
            .into());
        }
    }
    let readable = trails().filter(|(trail, _)| !trail.segments.is_empty());
    let own = Own::of(&heads, &readable.map(|(_, id)| id.as_deref()).collect::<Vec<_>>())?;
    let mut seen = HashSet::new();
    // An earlier argument can name some of them, too.
    let mut is_new = |source: &Source| File::of(&source.path).is_none_or(|file| seen.insert(file));
    let mut inspected = Vec::new();
    for Argument { path, trails, others, repeated } in arguments {
        let mut one = Inspected { name: path.to_path_buf(), trails: Vec::new(), others, repeated, sources: Vec::new() };
        let mut chained = repeated;
        for (trail, id) in trails {
            let checked = check(&trail, id.as_deref(), &own)?.map(by_url);
            chained |= checked.is_some();
            let before = one.sources.len();
            let segments = trail.segments.iter().enumerate().map(|(at, segment)| Source {
                path: segment.clone(),
                length: checked.as_ref().and_then(|checked| checked.lengths.get(at).copied()),
                chained: checked.is_some(),
                altered: checked.as_ref().is_some_and(|checked| checked.broken.is_some()),
            });
            one.sources.extend(segments.filter(&mut is_new));
            let read = one.sources.len() - before;
            let mut integrity = Integrity::new(shown(&trail.name), checked.as_ref(), !heads.is_empty());
            integrity.unread = trail.unread.iter().map(|file| shown(file)).collect();
            integrity.link = Some(Box::new(TrailLink { sources: (0, read), ..TrailLink::default() }));
            one.trails.push(integrity);
        }
        if !chained && !heads.is_empty() {
            return Err(no_trail(path));
        }
        let plain = |path: &PathBuf| Source { path: path.clone(), length: None, chained: false, altered: false };
        one.sources.extend(one.others.iter().map(plain).filter(&mut is_new));
        inspected.push(one);
    }
    Ok(inspected)
}

/// What these arguments name. A trail that an earlier argument names, too, is left out.
fn arguments(named: &[PathBuf]) -> Result<Vec<Argument<'_>>, Failure> {
    let mut arguments = Vec::new();
    let mut seen = HashSet::new();
    for path in recordings(named)? {
        let found = recording::find(path)?;
        let count = found.trails.len();
        let mut trails = Vec::new();
        for trail in found.trails {
            let files: Vec<File> = trail.segments.iter().filter_map(|segment| File::of(segment)).collect();
            if files.len() == trail.segments.len() && !files.is_empty() && files.iter().all(|file| seen.contains(file))
            {
                continue;
            }
            seen.extend(files);
            let id = trail.id().map_err(|error| unreadable(&trail.name, &error))?;
            trails.push((trail, id));
        }
        let repeated = trails.len() < count;
        arguments.push(Argument { path, trails, others: found.others, repeated });
    }
    Ok(arguments)
}

/// The trails among these recordings that were altered; a warning of each. What is read for another purpose is not
/// refused for it, but it is no success either.
pub(super) fn altered(named: &[PathBuf]) -> Result<Vec<Integrity>, Failure> {
    let mut altered = Vec::new();
    for path in named.iter().filter(|path| path.exists()) {
        for trail in recording::find(path)?.trails {
            let checked = check(&trail, None, &Own::default())?.filter(|checked| checked.broken.is_some());
            altered.extend(checked.map(|checked| Integrity::new(shown(&trail.name), Some(&by_url(checked)), false)));
        }
    }
    altered.iter().filter_map(|one| one.broken.as_ref()).for_each(|broken| warn(broken));
    Ok(altered)
}

/// The heads of a file of `--head`.
fn kept_heads(file: &Path) -> Result<KeptHeads, Failure> {
    let name = file.display();
    let kept = KeptHeads::read(file).map_err(|error| format!("cannot read the kept heads `{name}`: {error}"))?;
    if kept.torn > 0 {
        let lines = plural(kept.torn, "torn line");
        warn(&format!(
            "skipped {lines} of the kept heads `{name}`: the write was cut short (a full disk, a power cut)"
        ));
    }
    if kept.heads.is_empty() {
        return Err(format!(
            "`{name}` holds no head, so no trail can be compared with it; name the file of `--head-to`"
        )
        .into());
    }
    Ok(kept)
}

fn no_trail(path: &Path) -> Failure {
    format!("`{}` is not a trail, so `--head` has no effect on it; check it without `--head`", shown(path)).into()
}

fn unreadable(trail: &Path, error: &std::io::Error) -> Failure {
    format!("cannot read the trail `{}`: {error}", shown(trail)).into()
}

/// Which heads a trail is held to.
#[derive(Default)]
struct Own {
    heads: Vec<ChainHead>,
    /// The first head whose trail was not named, and its file.
    orphan: Option<(String, PathBuf)>,
}

impl Own {
    /// Those of these files, for trails that have these ids.
    fn of(kept: &[KeptHeads], ids: &[Option<&str>]) -> Result<Self, Failure> {
        let mut own = Self::default();
        for file in kept {
            for head in &file.heads {
                if own.orphan.is_none() && !ids.contains(&Some(head.trail.as_str())) {
                    own.orphan = Some((head.trail.clone(), file.file.clone()));
                }
                own.heads.push(head.clone());
            }
        }
        // If heads exist for a trail that is missing, one without heads is suspect: it may have been put in its place.
        match &own.orphan {
            Some((trail, file)) if ids.iter().all(|id| !own.of_trail(*id).is_empty()) => Err(format!(
                "`{}` keeps heads of the trail {trail}, which was not named; name that trail too",
                file.display()
            )
            .into()),
            _ => Ok(own),
        }
    }

    /// The heads of the trail with this id.
    fn of_trail(&self, id: Option<&str>) -> Vec<ChainHead> {
        self.heads.iter().filter(|head| Some(head.trail.as_str()) == id).cloned().collect()
    }

    /// What is wrong with a trail that has no head, where another trail with heads was not named.
    fn suspicion(&self, id: Option<&str>) -> Option<String> {
        let (orphan, file) = self.orphan.as_ref().filter(|_| id.is_some())?;
        Some(format!(
            "no kept head belongs to this trail; `{}` keeps heads of the trail {orphan}: this trail was rewritten, or \
             replaced it",
            file.display()
        ))
    }
}

/// The same with the places as output names them.
fn by_url(mut checked: Checked) -> Checked {
    if let Some(broken) = &mut checked.broken {
        broken.segment = shown(&broken.segment).into();
    }
    checked
}

/// Checks one trail.
fn check(trail: &TrailFiles, id: Option<&str>, own: &Own) -> Result<Option<Checked>, Failure> {
    let heads = own.of_trail(id);
    let checked = recording::check_chain(&trail.segments, &heads, trail.whole);
    let mut checked = checked.map_err(|error| unreadable(&trail.name, &error))?;
    let Some(found) = checked.as_mut().filter(|found| found.broken.is_none() && heads.is_empty()) else {
        return Ok(checked);
    };
    if let Some(reason) = own.suspicion(id) {
        let segment = trail.segments.first().cloned().unwrap_or_default();
        found.broken = Some(Broken { segment, line: 1, reason });
    }
    Ok(checked)
}

//! Which files make which fixture: those that are named make one, each cassette of a folder makes its own.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use contrail_contract::yaml_verbatim;
use contrail_recording::{self as recording, Folders, Tool};
use serde_json::Value;

use super::{
    cassette::{Cassette, Losses},
    hoverfly, nock, vcr, wiremock,
};
use crate::cli::Failure;

/// What is imported.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The fixtures, each by the name of its folder below `--out`. One without a name is `--out` itself.
    pub(super) fixtures: Vec<Fixture>,
    /// Cassettes of other tools, by the tool.
    pub(super) cassettes: BTreeMap<Tool, usize>,
    /// Recordings in a folder of cassettes that are none.
    pub(super) left_out: usize,
    /// Cassettes of a folder that cannot be read, and why.
    pub(super) unreadable: Vec<Failure>,
    pub(super) losses: Losses,
}

/// What becomes one fixture.
#[derive(Debug, Default)]
pub(super) struct Fixture {
    pub(super) name: Option<String>,
    pub(super) files: Vec<PathBuf>,
    /// Those that were converted, as HAR.
    pub(super) converted: BTreeMap<PathBuf, Bytes>,
}

/// A recording of another tool: a file, or a folder of stub mappings.
struct Found {
    tool: Tool,
    files: Vec<PathBuf>,
    /// Its place in the folder that was named.
    place: PathBuf,
}

impl Plan {
    /// `origin` is that of requests whose host a tool does not name.
    pub(super) fn of(named: &[PathBuf], from: Option<Tool>, out: &Path, origin: &str) -> Result<Self, Failure> {
        let (mut plan, mut single, mut tree) = (Self::default(), Fixture::default(), Vec::new());
        for path in named {
            if path.is_dir() {
                let (mut found, others) = cassettes_in(path, from, out)?;
                plan.left_out += if found.is_empty() { 0 } else { others };
                match found.as_slice() {
                    [] => single.files.push(path.clone()),
                    // The folder is one recording.
                    [only] if only.tool == Tool::WireMock && only.place.as_os_str().is_empty() => {
                        found.into_iter().try_for_each(|found| plan.convert(found, origin, &mut single))?;
                    }
                    _ => tree.append(&mut found),
                }
            } else if let Some(tool) = from.or_else(|| Tool::of(path)).filter(|tool| tool.is_imported()) {
                let place = path.file_name().unwrap_or_default().into();
                plan.convert(Found { tool, files: vec![path.clone()], place }, origin, &mut single)?;
            } else {
                single.files.push(path.clone());
            }
        }
        if tree.is_empty() {
            plan.fixtures.push(single);
            return Ok(plan);
        }
        if !single.files.is_empty() {
            return Err(
                "each cassette of a folder makes a fixture, and named files make one; import the files by themselves"
                    .into(),
            );
        }
        if recording::is_single_file(out) {
            return Err(
                format!("--out {}: each cassette of a folder makes a fixture; name a folder", out.display()).into()
            );
        }
        for found in tree {
            let name = Some(plan.free_name(&found.place));
            let mut fixture = Fixture { name, ..Fixture::default() };
            match plan.convert(found, origin, &mut fixture) {
                Ok(()) => plan.fixtures.push(fixture),
                Err(wrong) => plan.unreadable.push(wrong),
            }
        }
        Ok(plan)
    }

    /// Adds a recording to a fixture.
    fn convert(&mut self, found: Found, origin: &str, to: &mut Fixture) -> Result<(), Failure> {
        let Found { tool, files, .. } = found;
        let Some(first) = files.first().cloned() else { return Ok(()) };
        if tool != Tool::Polly {
            let cassette = read(tool, &files, origin)?;
            to.converted.insert(first.clone(), cassette.har(tool.name()));
            self.losses.add(cassette.losses);
        }
        *self.cassettes.entry(tool).or_default() += 1;
        to.files.push(first);
        Ok(())
    }

    /// The name of a fixture for a cassette at this place, which no other has: `sub/a.yaml` becomes `sub.a`. A session's
    /// name has no other characters, and at most 100.
    fn free_name(&self, place: &Path) -> String {
        const MAX_NAME: usize = 100;
        let place = place.with_extension("");
        // Polly's file is called `recording` in every folder.
        let place = if place.ends_with("recording") { place.parent().unwrap_or(&place) } else { &place };
        let parts: Vec<_> = place.iter().map(|part| part.to_string_lossy()).collect();
        let is_plain = |character: char| character.is_ascii_alphanumeric() || "._-".contains(character);
        let name = parts.join(".").replace(|character| !is_plain(character), "-");
        let mut name = name.trim_start_matches('.').chars().take(MAX_NAME - 4).collect::<String>();
        if name.is_empty() {
            name.push_str("cassette");
        }
        if recording::is_file_ending(Path::new(&name)) || recording::is_single_file(Path::new(&name)) {
            name = name.replace('.', "-");
        }
        let is_taken = |name: &str| self.fixtures.iter().any(|fixture| fixture.name.as_deref() == Some(name));
        let names = (2..).map(|nth| format!("{name}-{nth}"));
        std::iter::once(name.clone()).chain(names).find(|name| !is_taken(name)).unwrap_or(name)
    }
}

/// The cassettes in a folder and below, in the order of their names, and how many recordings are none. Those below `out`
/// were imported before.
fn cassettes_in(folder: &Path, from: Option<Tool>, out: &Path) -> Result<(Vec<Found>, usize), Failure> {
    let fail = |error| format!("cannot read the folder `{}`: {error}", folder.display());
    let (mut files, mut folders) = (Vec::new(), Folders::below(folder));
    while let Some(inside) = folders.take().map_err(fail)? {
        for item in fs::read_dir(&inside).map_err(fail)? {
            let path = item.map_err(fail)?.path();
            let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
            if is_hidden || path == out {
                continue;
            }
            match path.is_dir() {
                true if path.is_symlink() => folders.add_linked(path),
                true => folders.add(path),
                false => files.push(path),
            }
        }
    }
    files.sort();
    let (mut found, mut others): (Vec<Found>, usize) = (Vec::new(), 0);
    for path in files {
        let tool = Tool::of(&path).filter(|tool| tool.is_imported() && from.is_none_or(|from| from == *tool));
        let Some(tool) = tool else {
            others += usize::from(recording::is_recording_name(&path));
            continue;
        };
        let home = if tool == Tool::WireMock { mappings_of(&path) } else { &path };
        let place = home.strip_prefix(folder).unwrap_or(home).to_path_buf();
        match found.iter_mut().find(|found| tool == Tool::WireMock && found.tool == tool && found.place == place) {
            Some(found) => found.files.push(path),
            None => found.push(Found { tool, files: vec![path], place }),
        }
    }
    Ok((found, others))
}

/// The folder that holds `mappings` and `__files` of a mapping.
fn mappings_of(mapping: &Path) -> &Path {
    let mappings = mapping.ancestors().find(|folder| folder.ends_with("mappings"));
    mappings.and_then(Path::parent).or(mapping.parent()).unwrap_or(mapping)
}

/// Reads one recording of a tool.
fn read(tool: Tool, files: &[PathBuf], origin: &str) -> Result<Cassette, Failure> {
    let documents: Vec<Value> = files.iter().map(|file| document(file, tool)).collect::<Result<_, _>>()?;
    let document = documents.first().unwrap_or(&Value::Null);
    let file = files.first().map_or(Path::new(""), PathBuf::as_path);
    let cassette = match tool {
        Tool::Nock => nock::read(document),
        Tool::Hoverfly => hoverfly::read(document, origin),
        Tool::WireMock => Some(wiremock::read(&documents, &mappings_of(file).join("__files"), origin)),
        _ => vcr::read(document, origin),
    };
    cassette.ok_or_else(|| format!("`{}` is no recording of {}", file.display(), tool.name()).into())
}

/// A file as JSON: JSON is read as such, and all else as YAML.
fn document(file: &Path, tool: Tool) -> Result<Value, Failure> {
    let shown = file.display();
    let bytes = fs::read(file).map_err(|error| format!("cannot read `{shown}`: {error}"))?;
    let text = String::from_utf8(bytes).map_err(|_| format!("`{shown}` is not UTF-8"))?;
    let text = text.trim_start_matches('\u{feff}');
    let is_json = text.trim_start().starts_with(['{', '[']);
    // What is wrong with it may quote what it holds.
    let wrong = |at: String| format!("`{shown}` cannot be read as a recording of {} ({at})", tool.name());
    let document = if is_json {
        serde_json::from_str(text).map_err(|error| wrong(format!("line {}, column {}", error.line(), error.column())))
    } else {
        yaml_verbatim(text).map_err(wrong)
    };
    Ok(document?)
}

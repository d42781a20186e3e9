//! Instructions per request, counted by callgrind: the same whatever else the machine does, so that a change that makes
//! the check or the record path dearer is seen in one run, without a clock.
//!
//! One connection asks one request after the other; what the start and the end of a process cost is not counted. The
//! figures to compare with stand in a file of `NAME COUNT` lines: `SYSTEM` for the mix of which recordings are made,
//! `SYSTEM/MIX` for every other one. `SYSTEM/STAGE` and `SYSTEM/MIX/STAGE` are only printed: a stage is all that is done
//! inside one function, which varies with what the compiler inlines.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write as _,
    io::BufRead as _,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    Error,
    front::Front,
    load::{self, Traffic},
    measure::{self, TOKENS},
    options, process,
    traffic::{self, Mix},
};

/// Stages of a request, by the function that each is done in.
const STAGES: [(&str, &str); 5] = [
    ("credential", "contrail_exchange::token::cache::TokenCache::credential"),
    ("match", "contrail_replay::Replay::answer"),
    ("check", "contrail_contract::documents::Contract::check"),
    ("redaction", "contrail_redact::redactor::Redactor>::redact"),
    ("entry", "contrail_pipeline::journal::Encode>::encode"),
];

/// Three that pass on after one that does nothing else.
const PASSING: [&str; 4] = ["bare", "watch", "record", "enforce"];

/// One that answers, after one that does nothing else.
const ANSWERING: [&str; 2] = ["answer", "replay"];

const WARM_UP: usize = 300;
const REQUESTS: usize = 1000;

/// Of every other mix at least so many requests are counted, and whole rounds, after half as many.
const FEW_REQUESTS: usize = 100;

/// What a count may be above the one to compare with: another compiler, another libc.
const ROOM: f64 = 1.1;

/// The same where the processor is another kind: without AVX2 every search takes more instructions.
const ROOM_ELSEWHERE: f64 = 1.6;

/// Requests where a trail is kept: several segments of it.
const REQUESTS_OF_TRAIL: usize = 8000;

/// Instructions per request, by name.
type Table = BTreeMap<String, u64>;

/// What was counted.
#[derive(Default)]
struct Counts {
    totals: Table,
    /// Only of functions that the build did not inline.
    stages: Table,
}

/// `instructions --contrail PATH --expected FILE [--update true]`: counts, prints, and compares. With `--trail URL`, which
/// may be repeated, it counts trails instead: in a folder, and at these places. With `--page true` it counts the systems
/// without and with a live page that nobody looks at.
pub async fn run(args: &[String]) -> Result<(), Error> {
    let (mut contrail, mut expected, mut update, mut page) = (PathBuf::from("contrail"), None, false, false);
    let mut trails = vec![measure::TRAIL.to_owned()];
    options::each(args, |name, value| {
        match name {
            "--contrail" => contrail = value()?.into(),
            "--expected" => expected = Some(PathBuf::from(value()?)),
            "--update" => update = value()? == "true",
            "--trail" => trails.push(value()?),
            "--page" => page = value()? == "true",
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let scratch = std::env::temp_dir().join(format!("contrail-bench-{}", std::process::id()));
    std::fs::create_dir_all(&scratch)?;
    let mut counts = Counts::default();
    let mixes = [vec![traffic::RECORDED.to_owned(), traffic::DEFAULT.to_owned()], Mix::all()?].concat();
    let mixes: Vec<&str> = mixes.iter().map(String::as_str).collect();
    if page || trails.len() > 1 {
        let pages = ["watch", "record", "replay"].map(|name| [name.to_owned(), format!("{name}{}", measure::PAGE)]);
        for system in if page { pages.concat() } else { trails } {
            count(&system, &[traffic::RECORDED], &contrail, &scratch, &mut counts).await?;
        }
        let _ = std::fs::remove_dir_all(&scratch);
        print!("{}", table(&counts, &Table::new()));
        return Ok(());
    }
    for system in PASSING {
        count(system, &mixes, &contrail, &scratch, &mut counts).await?;
    }
    for system in ANSWERING {
        count(system, &[traffic::RECORDED], &contrail, &scratch, &mut counts).await?;
    }
    let _ = std::fs::remove_dir_all(&scratch);
    let Some(file) = expected else {
        print!("{}", table(&counts, &Table::new()));
        return Ok(());
    };
    if update {
        let lines: String = counts.totals.iter().fold(String::new(), |mut text, (name, count)| {
            let _ = writeln!(text, "{name} {count}");
            text
        });
        return Ok(std::fs::write(file, lines)?);
    }
    let before = read(&file)?;
    print!("{}", table(&counts, &before));
    let gone: Vec<&str> = before.keys().filter(|name| !counts.totals.contains_key(*name)).map(String::as_str).collect();
    if !gone.is_empty() {
        return Err(format!("nothing was counted of {}", gone.join(", ")).into());
    }
    let dearer = dearer(&counts.totals, &before);
    if dearer.is_empty() {
        return Ok(());
    }
    Err(format!(
        "dearer than {} allows: {}. Take the work away again, or say in the commit why it is worth it and run this with \
         `--update true`",
        file.display(),
        dearer.join("; ")
    )
    .into())
}

/// Counts one system's instructions per request into `counts`, for each mix, in all and by stage.
async fn count(
    system: &str,
    mixes: &[&str],
    contrail: &Path,
    scratch: &Path,
    counts: &mut Counts,
) -> Result<(), Error> {
    // The default mix has the contracts of all.
    let known = Mix::named(if mixes.len() > 1 { traffic::DEFAULT } else { mixes[0] })?;
    let origin = measure::origin(None)?;
    let out = scratch.join(measure::as_file(system));
    let plain = measure::command(system, contrail, &known, origin.address, scratch, &Front::Http1)?;
    let mut command = Command::new("valgrind");
    command
        // Only the first of several files would have the names of functions.
        .args(["--tool=callgrind", "--quiet", "--log-file=/dev/null", "--compress-strings=no"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(plain.get_program())
        .args(plain.get_args());
    let marker = measure::marker(system, &Front::Http1);
    let mut running =
        measure::start(&mut command, None, marker).map_err(|error| format!("{error}; is valgrind installed?"))?;
    let pid = running.child.id().to_string();
    let mut requests = Vec::new();
    for name in mixes {
        let traffic = Traffic::of(Mix::named(name)?, TOKENS)?;
        let round = traffic.mix.round();
        let (warm_up, counted) = match *name {
            traffic::RECORDED if measure::is_trail(system) => (WARM_UP, REQUESTS_OF_TRAIL),
            traffic::RECORDED => (WARM_UP, REQUESTS),
            _ => (FEW_REQUESTS / 2, FEW_REQUESTS.div_ceil(round) * round),
        };
        requests.push(counted);
        load::burst(&traffic, running.address, &Front::Http1, 1, warm_up).await?;
        process::idle(&running.child).await?; // `replay` judges what was recorded beside the traffic
        control("-z", &pid)?;
        load::burst(&traffic, running.address, &Front::Http1, 1, counted).await?;
        control("-d", &pid)?;
    }
    // A recording would become a fixture first, which takes minutes under callgrind and is counted nowhere.
    running.child.kill()?;
    drop(running);
    for (index, (mix, requests)) in mixes.iter().zip(requests).enumerate() {
        let profile = Profile::read(&out.with_extension((index + 1).to_string()))?;
        let name = if index > 0 { format!("{system}/{mix}") } else { system.to_owned() };
        for (stage, function) in STAGES {
            let inclusive = profile.inclusive(function);
            if inclusive > 0 {
                counts.stages.insert(format!("{name}/{stage}"), inclusive / requests as u64);
            }
        }
        counts.totals.insert(name, profile.total / requests as u64);
    }
    Ok(())
}

/// Makes a running callgrind forget (`-z`) or write (`-d`) what it counted.
fn control(what: &str, pid: &str) -> Result<(), Error> {
    let output = Command::new("callgrind_control").args([what, pid]).output()?;
    if output.status.success() { Ok(()) } else { Err(format!("callgrind_control {what} failed").into()) }
}

/// A file of callgrind's.
struct Profile {
    total: u64,
    /// By function: what it does itself, and what those do that it calls.
    functions: HashMap<String, u64>,
}

impl Profile {
    /// <https://valgrind.org/docs/manual/cl-format.html>
    fn read(path: &Path) -> Result<Self, Error> {
        let file = std::fs::File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let (mut names, mut functions) = (HashMap::<String, String>::new(), HashMap::<String, u64>::new());
        let (mut total, mut function, mut called, mut is_call) = (0, String::new(), String::new(), false);
        // `(1) name` the first time, `(1)` from then on.
        let mut name = |text: &str| match text.split_once(' ') {
            Some((id, name)) if id.starts_with('(') => {
                names.insert(id.to_owned(), name.to_owned());
                name.to_owned()
            }
            _ => names.get(text).cloned().unwrap_or_else(|| text.to_owned()),
        };
        for line in std::io::BufReader::new(file).lines() {
            let line = line?;
            if let Some(text) = line.strip_prefix("fn=") {
                function = name(text);
            } else if let Some(text) = line.strip_prefix("cfn=") {
                called = name(text);
            } else if line.starts_with("calls=") {
                is_call = true;
            } else if line.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '+' | '-' | '*')) {
                let Some(cost) = line.split(' ').nth(1).and_then(|cost| cost.parse::<u64>().ok()) else { continue };
                let call = std::mem::take(&mut is_call);
                if !call {
                    total += cost;
                }
                if !(call && called == function) {
                    *functions.entry(function.clone()).or_default() += cost;
                }
            }
        }
        if total == 0 {
            return Err(format!("{} holds no counts", path.display()).into());
        }
        Ok(Self { total, functions })
    }

    /// All that is done inside the function whose name ends so.
    fn inclusive(&self, function: &str) -> u64 {
        self.functions.iter().filter(|(name, _)| name.ends_with(function)).map(|(_, cost)| cost).sum()
    }
}

fn read(file: &Path) -> Result<Table, Error> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    text.lines()
        .map(|line| {
            let (name, count) = line.split_once(' ').ok_or_else(|| format!("`{line}` is no `NAME COUNT`"))?;
            Ok((name.to_owned(), count.parse()?))
        })
        .collect()
}

fn table(counts: &Counts, before: &Table) -> String {
    let mut text = format!("{:<28} {:>12} {:>12}\n", "instructions/request", "now", "expected");
    for (name, count) in counts.totals.iter().chain(&counts.stages) {
        let before = before.get(name).map_or_else(|| "-".to_owned(), u64::to_string);
        let _ = writeln!(text, "{name:<28} {count:>12} {before:>12}");
    }
    text
}

/// What got dearer by more than there is room for; small counts have a little more.
fn dearer(counts: &Table, before: &Table) -> Vec<String> {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let room = if cpu.contains("avx2") { ROOM } else { ROOM_ELSEWHERE };
    let allowed = |before: u64| (before as f64 * room) as u64 + 1000;
    counts
        .iter()
        .filter_map(|(name, now)| {
            let before = *before.get(name)?;
            (*now > allowed(before))
                .then(|| format!("{name} by {} % ({before} to {now})", (now - before) * 100 / before.max(1)))
        })
        .collect()
}

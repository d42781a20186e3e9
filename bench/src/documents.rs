//! `documents`: how contrail starts with any document, and `contrail verify` under it, beside the built-in contract with
//! bodies of the same size.
//!
//! `contrail demo --contract` makes the exchanges, one of each operation; those without a finding are repeated in one HAR
//! file with their bodies. The built-in contract's are made so, too. Of them the largest are left out, and then one list
//! grows, until the bodies have the same size on average.

use std::{
    ffi::OsStr,
    fs::File,
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::{Error, child, front::Front, measure, options, verify};

const BUILT_IN: &str = "built-in";

/// The operation of the built-in contract whose answer is a list of any length.
const GROWING: &str = "getConnectionProfileTemplates";

/// Measures `contrail verify` of a file of some exchanges; the last is a folder for what it notes.
type Measure = fn(&Path, &Files, &Path, &Path) -> Result<f64, Error>;

/// An entry of a HAR file, and the bytes of its bodies.
#[derive(Clone)]
struct Entry {
    value: Value,
    bytes: usize,
}

/// The exchanges of a contract's demonstration, and what a recording has beside them.
struct Demo {
    head: Value,
    entries: Vec<Entry>,
}

/// A file of many exchanges, and one of few, which takes as long to start.
struct Files {
    contract: PathBuf,
    many: PathBuf,
    few: PathBuf,
    /// How many more the first one has.
    more: usize,
    bytes: usize,
}

/// `documents --contrail PATH --documents DIR [--exchanges N] [--rounds N] [--only TEXT]
/// [--figure wall|cpu|instructions|start]`
pub fn run(args: &[String]) -> Result<(), Error> {
    let mut contrail = PathBuf::from("contrail");
    let (mut folder, mut exchanges, mut rounds) = (PathBuf::new(), 20_000_usize, 7_usize);
    let (mut only, mut figure) = (String::new(), "wall".to_owned());
    options::each(args, |name, value| {
        match name {
            "--contrail" => contrail = value()?.into(),
            "--documents" => folder = value()?.into(),
            "--exchanges" => exchanges = value()?.parse()?,
            "--rounds" => rounds = value()?.parse()?,
            "--only" => only = value()?,
            "--figure" => figure = value()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let mut documents = Vec::new();
    for entry in std::fs::read_dir(&folder)? {
        let path = std::path::absolute(entry?.path())?;
        if path.to_string_lossy().contains(&only) {
            documents.push(path);
        }
    }
    documents.sort();
    let scratch = verify::tempdir()?;
    let built_in = demo(&contrail, Path::new(BUILT_IN), &scratch)?;
    let (measure, rounds): (Measure, _) = match &*figure {
        "wall" => (wall, rounds),
        "cpu" => (cpu, rounds),
        "instructions" => (count, 1),
        "start" => return start(&contrail, &documents, rounds, &verify::tempdir()?),
        _ => return Err("--figure takes wall, cpu, instructions or start".into()),
    };
    let unit = if figure == "instructions" { "instructions" } else { "µs" };
    println!("`verify` of an exchange beyond the start, {unit} ({figure}; medians of {rounds} rounds)\n");
    println!("| | bodies | built-in | the document | ratio |\n|---|---|---|---|---|");
    for document in &documents {
        let own = demo(&contrail, document, &scratch)?;
        let bytes = own.entries.iter().map(|entry| entry.bytes).sum::<usize>() / own.entries.len();
        let own = files(&own, document, exchanges, &scratch.join("document"))?;
        let reference = files(&of_size(&built_in, bytes), Path::new(BUILT_IN), exchanges, &scratch.join("built-in"))?;
        let (mut reference_took, mut own_took) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            for (files, took) in [(&reference, &mut reference_took), (&own, &mut own_took)] {
                let [many, few] = [&files.many, &files.few].map(|file| measure(&contrail, files, file, &scratch));
                took.push((many? - few?) / files.more as f64);
            }
        }
        let (reference_took, own_took) = (median(reference_took), median(own_took));
        println!(
            "| {} | {:.1} KB ({:.1}) | {reference_took:.1} | {own_took:.1} | {:.2} × |",
            document.file_stem().unwrap_or_default().to_string_lossy(),
            own.bytes as f64 / 1024.0,
            reference.bytes as f64 / 1024.0,
            own_took / reference_took,
        );
    }
    std::fs::remove_dir_all(&scratch)?;
    Ok(())
}

/// Prints the time and peak of `contract`, and how long `watch` takes until it listens.
fn start(contrail: &Path, documents: &[PathBuf], rounds: usize, scratch: &Path) -> Result<(), Error> {
    println!("Medians of {rounds} rounds\n\n| | `contract` | peak | `watch` listens after |\n|---|---|---|---|");
    for document in documents {
        let (mut took, mut peaks, mut listens) = (Vec::new(), Vec::new(), Vec::new());
        let show: [&OsStr; 4] = [contrail.as_ref(), "contract".as_ref(), "--contract".as_ref(), document.as_ref()];
        for _ in 0..rounds {
            let used = child::run(&scratch.join("used"), &show)?;
            took.push(used.wall.as_secs_f64());
            peaks.push(used.peak as f64 / f64::from(1 << 20));
            let mut watch = Command::new(contrail);
            watch.args(["watch", "--upstream", "sandbox", "--listen", "127.0.0.1:0", "--contract"]).arg(document);
            let started = Instant::now();
            let running = measure::start(&mut watch, None, measure::marker("watch", &Front::Http1))?;
            listens.push(started.elapsed().as_secs_f64() * 1e3);
            drop(running);
        }
        println!(
            "| {} | {:.2} s | {:.0} MB | {:.0} ms |",
            document.file_stem().unwrap_or_default().to_string_lossy(),
            median(took),
            median(peaks),
            median(listens)
        );
    }
    Ok(std::fs::remove_dir_all(scratch)?)
}

/// The exchanges of a contract's demonstration that have no finding, with their bodies.
fn demo(contrail: &Path, contract: &Path, scratch: &Path) -> Result<Demo, Error> {
    let out = scratch.join("demo");
    let mut command = Command::new(contrail);
    command.args(["demo", "--contract"]).arg(contract).arg("--out").arg(&out);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    let folder = out.join("tenant");
    let recorded: Value = serde_json::from_slice(&std::fs::read(folder.join("tenant.har"))?)?;
    let judged = Command::new(contrail)
        .args(["verify", "--format", "json", "--contract"])
        .args([contract, &folder])
        .stdin(Stdio::null())
        .output()?;
    let judged: Value = serde_json::from_slice(&judged.stdout)?;
    let mut entries = Vec::new();
    let head = recorded["log"]["_contrail"].clone();
    let recorded = recorded["log"]["entries"].as_array().into_iter().flatten();
    for (entry, judged) in recorded.zip(judged["exchanges"].as_array().into_iter().flatten()) {
        if judged["findings"].as_array().is_some_and(Vec::is_empty) {
            entries.push(with_bodies(entry, &folder)?);
        }
    }
    std::fs::remove_dir_all(&out)?;
    if entries.is_empty() {
        return Err(format!("no exchange of `{}` is without findings", contract.display()).into());
    }
    Ok(Demo { head, entries })
}

/// An entry with its bodies in place of their files.
fn with_bodies(entry: &Value, folder: &Path) -> Result<Entry, Error> {
    let mut entry = entry.clone();
    let laid_out = entry["_contrail"]["laidOut"].clone();
    let mut bytes = 0;
    for (side, body, encoding) in [("request", "postData", "_encoding"), ("response", "content", "encoding")] {
        let Some(body) = entry[side].get_mut(body) else { continue };
        if let Some(file) = body["_file"].as_str() {
            let mut content = std::fs::read(folder.join(file))?;
            if laid_out.as_array().is_some_and(|sides| sides.contains(&json!(side))) {
                content = serde_json::from_slice::<Value>(&content)?.to_string().into();
            }
            match String::from_utf8(content) {
                Ok(text) => body["text"] = text.into(),
                Err(binary) => {
                    body["text"] = STANDARD.encode(binary.as_bytes()).into();
                    body[encoding] = "base64".into();
                }
            }
        }
        if let Some(body) = body.as_object_mut() {
            body.remove("_file");
        }
        bytes += body["text"].as_str().map_or(0, str::len);
    }
    if let Some(own) = entry["_contrail"].as_object_mut() {
        own.retain(|name, _| !["laidOut", "sha256"].contains(&name.as_str()));
    }
    Ok(Entry { value: entry, bytes })
}

/// The smallest of these exchanges, with bodies of this size on average: the answers of [`GROWING`] grow.
fn of_size(demo: &Demo, bytes: usize) -> Demo {
    let mut entries = demo.entries.clone();
    entries.sort_by_key(|entry| entry.bytes);
    let total = |entries: &[Entry]| entries.iter().map(|entry| entry.bytes).sum::<usize>();
    while entries.len() > 1 && total(&entries) > bytes * entries.len() {
        entries.pop();
    }
    let missing = (bytes * entries.len()).saturating_sub(total(&entries));
    let is_growing = |entry: &Entry| entry.value["_contrail"]["operation"] == GROWING;
    let growing = entries.iter().filter(|entry| is_growing(entry)).count();
    for entry in entries.iter_mut().filter(|entry| is_growing(entry)) {
        if let Some(grown) = grown(entry, missing / growing) {
            *entry = grown;
        }
    }
    Demo { head: demo.head.clone(), entries }
}

/// An entry whose answer has a list of objects, repeated until it has so many bytes more.
fn grown(entry: &Entry, missing: usize) -> Option<Entry> {
    let text = entry.value["response"]["content"]["text"].as_str()?;
    let mut body: Value = serde_json::from_str(text).ok()?;
    let before = text.len();
    let list =
        body.as_object_mut()?.values_mut().find_map(|value| value.as_array_mut().filter(|list| !list.is_empty()))?;
    let size: usize = list.iter().map(|item| item.to_string().len() + 1).sum();
    let times = missing.div_ceil(size) + 1;
    let items: Vec<Value> = list.iter().cloned().cycle().take(list.len() * times).collect();
    let mut added = 0;
    let kept = items.iter().skip(list.len()).take_while(|item| {
        let fits = added < missing;
        added += item.to_string().len() + 1;
        fits
    });
    let kept = kept.count() + list.len();
    *list = items.into_iter().take(kept).collect();
    let text = body.to_string();
    let mut grown = entry.clone();
    grown.bytes += text.len() - before;
    grown.value["response"]["content"]["size"] = text.len().into();
    grown.value["response"]["bodySize"] = text.len().into();
    grown.value["response"]["content"]["text"] = text.into();
    Some(grown)
}

/// Writes the exchanges over and over to one file, and a twentieth of it to another.
fn files(Demo { head, entries }: &Demo, contract: &Path, exchanges: usize, stem: &Path) -> Result<Files, Error> {
    let texts: Vec<String> = entries.iter().map(|entry| entry.value.to_string()).collect();
    let rounds = exchanges.div_ceil(texts.len()).max(2);
    let write = |path: &Path, rounds: usize| -> Result<(), Error> {
        let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
        let log = r#"{"log":{"version":"1.2","creator":{"name":"contrail","version":"1"}"#;
        write!(out, r#"{log},"_contrail":{head},"entries":["#)?;
        for (index, text) in texts.iter().cycle().take(texts.len() * rounds).enumerate() {
            out.write_all(if index == 0 { b"" } else { b"," })?;
            out.write_all(text.as_bytes())?;
        }
        Ok(out.write_all(b"]}}\n")?)
    };
    let few = (rounds / 20).max(1);
    let (many_file, few_file) = (stem.with_extension("many.har"), stem.with_extension("few.har"));
    write(&many_file, rounds)?;
    write(&few_file, few)?;
    let bytes = entries.iter().map(|entry| entry.bytes).sum::<usize>() / entries.len();
    let (contract, more) = (contract.to_owned(), (rounds - few) * texts.len());
    Ok(Files { contract, many: many_file, few: few_file, more, bytes })
}

/// Microseconds of `verify` of a file, by the clock.
fn wall(contrail: &Path, files: &Files, file: &Path, scratch: &Path) -> Result<f64, Error> {
    Ok(used(contrail, files, file, scratch)?.wall.as_secs_f64() * 1e6)
}

/// The same of all cores.
fn cpu(contrail: &Path, files: &Files, file: &Path, scratch: &Path) -> Result<f64, Error> {
    Ok(used(contrail, files, file, scratch)?.cpu.as_secs_f64() * 1e6)
}

fn used(contrail: &Path, files: &Files, file: &Path, scratch: &Path) -> Result<child::Used, Error> {
    let command: [&OsStr; 5] =
        [contrail.as_ref(), "verify".as_ref(), "--contract".as_ref(), files.contract.as_ref(), file.as_ref()];
    let used = child::run(&scratch.join("used"), &command)?;
    if used.status != 0 {
        return Err(format!("{command:?} ended with status {}; the exchanges conform", used.status).into());
    }
    Ok(used)
}

/// Instructions of `verify` of a file, counted by callgrind: the same whatever else the machine does.
fn count(contrail: &Path, files: &Files, file: &Path, scratch: &Path) -> Result<f64, Error> {
    let profile = scratch.join("callgrind.out");
    let mut option = std::ffi::OsString::from("--callgrind-out-file=");
    option.push(&profile);
    let mut command = Command::new("valgrind");
    command.arg("--tool=callgrind").arg(option).arg(contrail).args(["verify", "--contract"]);
    command.arg(&files.contract).arg(file);
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    let text = std::fs::read_to_string(&profile)?;
    let counts = text.lines().filter_map(|line| line.strip_prefix("totals:").or(line.strip_prefix("summary:")));
    let most = counts.filter_map(|count| count.trim().parse::<f64>().ok()).fold(0.0, f64::max);
    if !status.success() || most == 0.0 {
        return Err(format!("{command:?} counted nothing: {status}").into());
    }
    Ok(most)
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

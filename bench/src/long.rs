//! `long`: a long recording against a short one: how soon replay is ready, its memory, its CPU time per request; and
//! what folding such a recording takes.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use crate::{
    Error, child,
    front::Front,
    load::{self, Traffic},
    measure::{self, TOKENS},
    options,
    process::{Memory, end, idle, mb},
    recordings::{self, Form, Until},
    traffic::{Mix, RECORDED},
    verify,
};

/// Measures and prints.
pub async fn run(args: &[String]) -> Result<(), Error> {
    let (mut contrail, mut entries, mut requests) = (PathBuf::from("contrail"), 100_000_usize, 20_000_usize);
    let mut mix = RECORDED.to_owned();
    options::each(args, |name, value| {
        match name {
            "--contrail" => contrail = value()?.into(),
            "--entries" => entries = value()?.parse()?,
            "--mix" => mix = value()?,
            "--requests" => requests = value()?.parse()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let scratch = verify::tempdir()?;
    println!(
        "{:<22} {:>10} {:>10} {:>10} {:>10} {:>12}",
        "replay", "file MB", "ready ms", "ready MB", "peak MB", "µs CPU/req"
    );
    let mut fixture = PathBuf::new();
    for entries in [10, 1000, entries] {
        let journal = scratch.join(format!("{entries}.journal"));
        let identities = entries.div_ceil(Mix::named(&mix)?.round());
        let mix = Mix::for_recording(&mix, entries, identities)?;
        recordings::write(&journal, Form::Journal, Until::Entries(entries), &mix)?;
        fixture = scratch.join(format!("{entries}.har"));
        let pack: [&OsStr; 5] =
            [contrail.as_ref(), "pack".as_ref(), journal.as_ref(), "--out".as_ref(), fixture.as_ref()];
        let folded = child::run(&scratch.join("used"), &pack)?;
        if folded.status != 0 {
            return Err(format!("contrail pack ended with status {}", folded.status).into());
        }
        for file in [&journal, &fixture] {
            replay(&contrail, file, &Traffic::of(mix.clone(), TOKENS)?, requests).await?;
        }
        println!(
            "{:<22} {:>10.1} CPU s, {:.1} s, peak {:.0} MB",
            format!("fold of {entries}"),
            folded.cpu.as_secs_f64(),
            folded.wall.as_secs_f64(),
            mb(folded.peak)
        );
    }
    drop(fixture);
    std::fs::remove_dir_all(&scratch)?;
    Ok(())
}

async fn replay(contrail: &Path, file: &Path, traffic: &Traffic, requests: usize) -> Result<(), Error> {
    let mut command = Command::new(contrail);
    command.arg("replay").arg(file).args(["--exhausted", "repeat", "--listen", "127.0.0.1:0"]);
    let mut ready = Vec::new();
    for _ in 0..4 {
        let started = Instant::now();
        let running = measure::start(&mut command, None, "listening on http://")?;
        ready.push(started.elapsed());
        drop(running);
    }
    ready.sort_unstable();
    let mut running = measure::start(&mut command, None, "listening on http://")?;
    let memory = Memory::of(&running.child)?;
    idle(&running.child).await?; // what was recorded is judged beside the traffic
    load::burst(traffic, running.address, &Front::Http1, 32, requests).await?;
    let before = measure::cpu_time(&running.child)?;
    load::burst(traffic, running.address, &Front::Http1, 32, requests).await?;
    let used = measure::cpu_time(&running.child)? - before;
    let peak = end(&mut running.child).await?;
    println!(
        "{:<22} {:>10.1} {:>10.1} {:>10.1} {:>10.1} {:>12.1}",
        file.file_name().map(OsStr::to_string_lossy).unwrap_or_default(),
        mb(file.metadata()?.len()),
        ready[ready.len() / 2].as_secs_f64() * 1e3,
        mb(memory.now),
        mb(peak),
        used.as_secs_f64() * 1e6 / requests as f64,
    );
    Ok(())
}

//! `verify`: contrail's check of a large recording, beside `serde_json` reading the same file into values.

use std::{
    ffi::OsStr,
    fs::File,
    io::{BufRead as _, BufReader},
    path::PathBuf,
};

use serde_json::Value;

use crate::{
    Error, child, options,
    recordings::{self, Form, Until},
    traffic::{Mix, RECORDED},
};

/// Measures and prints.
pub fn run(args: &[String]) -> Result<(), Error> {
    let mut contrail = PathBuf::from("contrail");
    let (mut megabytes, mut rounds) = (256_u64, 3_usize);
    options::each(args, |name, value| {
        match name {
            "--contrail" => contrail = value()?.into(),
            "--megabytes" => megabytes = value()?.parse()?,
            "--rounds" => rounds = value()?.parse()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let scratch = tempdir()?;
    let this = std::env::current_exe()?;
    let note = scratch.join("used");
    println!("{megabytes} MB of the mix each, medians of {rounds} rounds; CPU of the whole process\n");
    println!("{:<26} {:>8} {:>8} {:>8} {:>8} {:>8}", "", "CPU s", "ratio", "wall s", "MB/s", "peak MB");
    let mix = Mix::named(RECORDED)?;
    for form in Form::ALL {
        let file = scratch.join(form.file_name());
        let entries = recordings::write(&file, form, Until::Bytes(megabytes << 20), &mix)?;
        let values: [&OsStr; 3] = [this.as_ref(), "values".as_ref(), file.as_ref()];
        let verify: [&OsStr; 3] = [contrail.as_ref(), "verify".as_ref(), file.as_ref()];
        let (mut reads, mut checks) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            reads.push(child::run(&note, &values)?);
            let used = child::run(&note, &verify)?;
            if used.status != 0 {
                return Err(format!("contrail verify ended with status {}; the mix conforms", used.status).into());
            }
            checks.push(used);
        }
        let base = median(&reads, |used| used.cpu.as_secs_f64());
        for (what, used) in [("serde_json values", &reads), ("contrail verify", &checks)] {
            let (cpu, wall) =
                (median(used, |used| used.cpu.as_secs_f64()), median(used, |used| used.wall.as_secs_f64()));
            println!(
                "{:<26} {cpu:>8.2} {:>8.2} {wall:>8.2} {:>8.0} {:>8.0}",
                format!("{}: {what}", form.name()),
                cpu / base,
                megabytes as f64 / wall,
                median(used, |used| used.peak as f64) / f64::from(1 << 20),
            );
        }
        println!(
            "{:<26} {:>8.2} µs per exchange of {entries}",
            "",
            median(&checks, |used| used.cpu.as_secs_f64()) * 1e6 / entries as f64
        );
        std::fs::remove_file(&file)?;
    }
    std::fs::remove_dir_all(&scratch)?;
    Ok(())
}

/// `values FILE`: what it is measured against. A journal line by line, each value dropped; a HAR file whole.
pub fn values(path: &str) -> Result<(), Error> {
    if path.ends_with(".journal") {
        let mut lines = BufReader::with_capacity(1 << 20, File::open(path)?);
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line)? > 0 {
            std::hint::black_box(serde_json::from_slice::<Value>(&line)?);
            line.clear();
        }
        return Ok(());
    }
    let value: Value = serde_json::from_slice(&std::fs::read(path)?)?;
    std::mem::forget(std::hint::black_box(value)); // reading is measured, not taking it apart again
    Ok(())
}

/// A folder of this run's own.
pub fn tempdir() -> Result<PathBuf, Error> {
    let scratch = std::env::temp_dir().join(format!("contrail-bench-{}", std::process::id()));
    std::fs::create_dir_all(&scratch)?;
    Ok(scratch)
}

fn median(samples: &[child::Used], of: impl Fn(&child::Used) -> f64) -> f64 {
    let mut values: Vec<f64> = samples.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

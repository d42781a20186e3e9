//! `contrail contract`: the contract in force.

mod check;
mod show;

use std::{
    io::Write as _,
    path::{Path, PathBuf},
};

use contrail_contract::Contract;

use super::{
    ContractArgs, Failure, Format, Outcome,
    kinds::{self, FileKind},
    printer::{Printer, write_whole},
    report_files::Used,
};

/// Show the contract: operations, scopes, what it leaves open
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub(super) contract: ContractArgs,
    /// Write the effective OpenAPI document instead, to FILE (JSON for .json, otherwise YAML) or standard output
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    #[allow(clippy::option_option)]
    pub(super) export: Option<Option<PathBuf>>,
    /// Check the contract itself: print broken places, actions of overlays without effect, what the contract does not
    /// show and what contrail cannot judge; exit status 1 if anything is broken or without effect
    #[arg(long, conflicts_with = "export")]
    pub(super) check: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(super) format: Format,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    if let Some(Some(file)) = args.export.as_ref().filter(|file| file.as_deref() != Some(Path::new("-"))) {
        let mut used = Used::default();
        used.files("contract", args.contract.contract.iter().chain(&args.contract.overlay));
        used.spare("--export", file)?;
        kinds::replaces("--export", file, FileKind::Contract)?;
    }
    // The check itself prints what a warning would.
    let contract = if args.check { args.contract.load_quietly()? } else { args.contract.load()? };
    if args.export.is_some()
        && let several @ [_, _, ..] = contract.documents()
    {
        let names = several.iter().map(|document| format!("`{}`", document.name())).collect::<Vec<_>>().join(", ");
        return Err(format!(
            "--export writes one document, and --contract names several ({names}); export each by itself"
        )
        .into());
    }
    match &args.export {
        Some(Some(file)) if file != Path::new("-") => export(&contract, file)?,
        Some(_) => {
            let mut printer = Printer::stdout();
            match args.format {
                Format::Json => writeln!(printer, "{:#}", contract.document())?,
                Format::Text => printer.write_all(contract.to_yaml().as_bytes())?,
            }
            printer.flush()?;
        }
        None => {
            let mut printer = Printer::stdout();
            match (args.format, args.check) {
                (Format::Json, false) => writeln!(printer, "{:#}", show::as_json(&contract))?,
                (Format::Json, true) => writeln!(printer, "{:#}", check::as_json(&contract))?,
                (Format::Text, false) => show::text(&contract, &mut printer)?,
                (Format::Text, true) => check::text(&contract, &mut printer)?,
            }
            printer.flush()?;
        }
    }
    Ok(Outcome { findings: args.check && check::is_broken(&contract), ..Outcome::CLEAN })
}

fn export(contract: &Contract, file: &Path) -> Result<(), Failure> {
    let json = file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    let text = if json { format!("{:#}\n", contract.document()) } else { contract.to_yaml() };
    write_whole(file, text.as_bytes()).map_err(|error| format!("cannot write `{}`: {error}", file.display()).into())
}

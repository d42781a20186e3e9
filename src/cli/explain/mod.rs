//! `contrail explain`: what a rule means, or another word of the output.
//!
//! The tables in `rules`, `aspects` and `words` are the one place where they are explained; a test writes `docs/rules.md`
//! from them, and holds it to that.

mod aspects;
mod explained;
mod name;
mod rules;
mod show;
#[cfg(test)]
mod tests;
mod words;

use std::{io::Write as _, sync::Arc};

use contrail_contract::Contract;
use contrail_exchange::finding::Rule;
use contrail_inspect::Advice;
use explained::InForce;
pub(super) use name::names;
use name::{Name, UnknownName, nearest};
use show::{list, one};

use super::{ContractArgs, Failure, Format, Outcome, printer::Printer};

/// Explain a rule or a word of the output: its meaning, its source, and what to do
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Rule (`request.body`), name from `unchecked` (`required-scope`), or another word (`exhausted`) [default: list all]
    #[arg(value_name = "RULE")]
    pub(super) rule: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
    #[command(flatten)]
    pub(super) contract: ContractArgs,
}

/// What is known of a rule, for the live page: under the built-in contract, or this one.
pub(super) fn advice(contract: Option<Arc<Contract>>) -> Box<dyn Fn(Rule) -> Advice + Send + Sync> {
    let in_force = InForce(contract);
    Box::new(move |rule| {
        let explained = in_force.explain(Name::Rule(rule));
        Advice { means: explained.means.to_owned(), source: explained.source, now: explained.now.to_owned() }
    })
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let in_force = if args.contract.is_built_in() { None } else { Some(args.contract.load()?) };
    let in_force = InForce(in_force);
    let mut printer = Printer::stdout();
    match &args.rule {
        None => list(args.format, &in_force, &mut printer)?,
        Some(name) => {
            let Some(named) = Name::find(name) else {
                return Err(UnknownName { nearest: nearest(&name.to_ascii_lowercase()), name: name.clone() }.into());
            };
            one(named, args.format, &in_force, &mut printer)?;
        }
    }
    printer.flush()?;
    Ok(Outcome::CLEAN)
}

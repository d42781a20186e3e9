//! `contrail explain`: what a rule means.
//!
//! The tables in `rules` and `aspects` are the one place where rules are explained; `docs/rules.md` is written from
//! them ([`markdown`]), and a test holds it to that.

mod args;
mod aspects;
mod explained;
mod name;
mod page;
mod rules;
mod show;

use std::io::Write as _;

pub use args::Args;
use contrail_exchange::finding::Unchecked;
use explained::InForce;
use name::{Name, UnknownName, nearest};
pub use page::markdown;
use show::{list, one};

use super::{Failure, Outcome, printer::Printer};

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let in_force = if args.contract.is_built_in() { None } else { Some(args.contract.load()?) };
    let in_force = InForce(in_force);
    let mut printer = Printer::stdout();
    match &args.rule {
        None => list(args.format, &in_force, &mut printer)?,
        Some(name) => {
            let rule = name.parse().map(Name::Rule).ok();
            let Some(named) = rule.or_else(|| Unchecked::from_name(name).map(Name::Aspect)) else {
                return Err(UnknownName { nearest: nearest(&name.to_ascii_lowercase()), name: name.clone() }.into());
            };
            one(named, args.format, &in_force, &mut printer)?;
        }
    }
    printer.flush()?;
    Ok(Outcome::CLEAN)
}

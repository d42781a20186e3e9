//! The demo's output, and how many of its steps differed from the script.

use std::{fmt::Write as _, io::Write as _};

use super::{line::Line, script::Step};
use crate::cli::{Failure, printer::Printer};

/// The output, and how many steps differed from the script.
#[derive(Debug)]
pub(super) struct Screen {
    out: Printer,
    pub(super) surprises: usize,
}

impl Screen {
    pub(super) fn new() -> Self {
        Self { out: Printer::stdout(), surprises: 0 }
    }

    pub(super) fn print(&mut self, text: &str) -> Result<(), Failure> {
        writeln!(self.out, "{text}")?;
        Ok(self.out.flush()?)
    }

    fn mark(&mut self, good: bool) -> &'static str {
        self.surprises += usize::from(!good);
        match (good, self.out.colour()) {
            (true, false) => "ok",
            (true, true) => "\x1b[32mok\x1b[0m",
            (false, false) => " !",
            (false, true) => "\x1b[31;1m !\x1b[0m",
        }
    }

    /// Prints a result, marked by whether it was expected.
    pub(super) fn check(&mut self, good: bool, what: &str) -> Result<(), Failure> {
        let mark = self.mark(good);
        self.print(&format!("  {mark}  {what}"))
    }

    /// Prints what the demo cannot show, which is no surprise.
    pub(super) fn omit(&mut self, what: &str) -> Result<(), Failure> {
        self.print(&format!("  --  {what}"))
    }

    /// Prints a step's result.
    pub(super) fn step(&mut self, step: &Step, live: &Line, good: bool) -> Result<(), Failure> {
        let mut text = format!("{:5} {:3}  {:42}", step.method, live.status, step.what);
        if !live.rules.is_empty() {
            let _ = write!(text, " {}", live.rules.join(", "));
        }
        if !good {
            let rules = step.expected_rules();
            let rules = if rules.is_empty() { "no finding".to_owned() } else { rules.join(", ") };
            let _ = write!(text, "\n      expected: {} with {rules}", step.status);
        }
        self.check(good, text.trim_end())
    }
}

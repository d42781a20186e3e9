//! How requests are compared, for commands that make a fixture and that serve one.

use contrail_contract::Contract;
use contrail_recording::{CallerRule, Ignore, MatchRules, Scope};

use super::judge::known_operations;
use crate::cli::Failure;

/// How requests are compared
#[derive(Debug, Clone, Default, clap::Args)]
pub struct MatchArgs {
    /// Ignore this part of requests in the comparison: `query:NAME`, `pointer:/a/b` (`*` for any one member or item),
    /// `path:N` (N-th segment, from 1), `header:NAME` or `body`, optionally after `OPERATION=` or `METHOD /path/*=`;
    /// repeatable. `record` and `import` store it in the fixture
    #[arg(long, value_name = "[SCOPE=]WHAT")]
    pub ignore: Vec<Ignore>,
    /// Ignore this part of requests, `pointer:/a/b` or `header:NAME` (scoped as for `--ignore`), and where the recorded
    /// answer repeats the recorded value, give the live one (JSON-RPC, correlation ids); repeatable. `record` and
    /// `import` store it in the fixture
    #[arg(long, value_name = "[SCOPE=]WHAT", value_parser = Ignore::echo)]
    pub echo: Vec<Ignore>,
    /// Tell callers apart by `header:NAME` or `cookie:NAME`, as a token does: each gets its own answers only;
    /// repeatable. `record` and `import` store it in the fixture
    #[arg(long, value_name = "WHAT")]
    pub caller: Vec<CallerRule>,
    /// The command line gives them, not a variable or the file, which are for all recordings.
    #[arg(skip)]
    pub typed: bool,
}

impl MatchArgs {
    /// The rules that they give.
    pub(in crate::cli) fn rules(&self) -> MatchRules {
        MatchRules { ignore: self.ignore.clone(), echo: self.echo.clone(), caller: self.caller.clone() }
    }

    /// Each rule with its option.
    pub(in crate::cli) fn options(&self) -> impl Iterator<Item = (&'static str, &Ignore)> {
        let ignore = self.ignore.iter().map(|rule| ("--ignore", rule));
        ignore.chain(self.echo.iter().map(|rule| ("--echo", rule)))
    }

    /// Whether a rule is about a documented operation.
    pub(in crate::cli) fn names_operations(&self) -> bool {
        self.options().any(|(_, rule)| matches!(rule.scope, Some(Scope::Operation(_))))
    }

    /// Refuses rules about operations that the contract has not.
    pub(in crate::cli) fn check(&self, contract: &Contract) -> Result<(), Failure> {
        for (option, rule) in self.options() {
            if let Some(Scope::Operation(operation)) = &rule.scope {
                known_operations(contract, option, [operation])?;
            }
        }
        Ok(())
    }
}

//! Which findings make a command fail: violations do and gaps do not, unless `--deny` or `--allow` says otherwise.

use std::{fs, path::PathBuf, str::FromStr};

use clap::Command;
use contrail_exchange::{
    finding::{Finding, Kind, Rule, UnknownRule, Verdict},
    suggest::nearest,
};
use contrail_report::{Baseline, Collector, Exemptions, Suppression};
use jiff::{Timestamp, tz::TimeZone};

use crate::cli::{Failure, messages::or};

/// What makes the command fail
#[derive(Debug, Clone, Default, clap::Args)]
pub struct PolicyArgs {
    // What both say in `--help` depends on the command: see `described`.
    /// Also fail on every gap (`gaps`) or on this rule; repeatable
    #[arg(long, value_name = "gaps|RULE", value_delimiter = ',')]
    pub deny: Vec<Denied>,
    /// Do not fail on this rule, even if `--deny` names it; still reported; repeatable
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub allow: Vec<Allowed>,
    /// JSON report of an earlier run (`--report json=FILE`): only findings that it does not list fail
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Those of `contrail.toml`.
    #[arg(skip)]
    pub suppressions: Vec<Suppression>,
}

/// One value of `--deny`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denied {
    /// Every gap.
    Gaps,
    /// Recorded exchanges that no request used, in `replay`.
    Unused,
    /// Recorded exchanges that do not fit the contract any more, in `replay`.
    Stale,
    /// Recordings that are older than `--max-age`, in `replay`.
    Age,
    /// Hosts that the forward proxy denied.
    Hosts,
    /// Exchanges that a trail or journal could not record.
    Unrecorded,
    /// One rule.
    Rule(Rule),
}

/// The values beside rules.
pub(in crate::cli) const DENIED_WORDS: [(&str, Denied); 6] = [
    ("gaps", Denied::Gaps),
    ("unused", Denied::Unused),
    ("stale", Denied::Stale),
    ("age", Denied::Age),
    ("denied", Denied::Hosts),
    ("unrecorded", Denied::Unrecorded),
];

impl FromStr for Denied {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        one_of(&DENIED_WORDS, word, Self::Rule)
    }
}

impl Denied {
    /// Whether it has an effect in this command.
    fn has_effect(self, command: &str) -> bool {
        match self {
            Self::Gaps | Self::Rule(_) => true,
            Self::Unused | Self::Stale | Self::Age => command == "replay",
            Self::Hosts => ["record", "watch", "replay"].contains(&command),
            Self::Unrecorded => ["verify", "audit"].contains(&command),
        }
    }
}

/// One value of `--allow`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowed {
    /// Requests that replay denied because of their host.
    Denied,
    /// A run of `record`, `watch` or `replay` without a request.
    Unused,
    /// Exchanges that a trail or journal could not record.
    Unrecorded,
    /// One rule.
    Rule(Rule),
}

/// The values beside rules.
pub(in crate::cli) const ALLOWED_WORDS: [(&str, Allowed); 3] =
    [("denied", Allowed::Denied), ("unused", Allowed::Unused), ("unrecorded", Allowed::Unrecorded)];

impl FromStr for Allowed {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        one_of(&ALLOWED_WORDS, word, Self::Rule)
    }
}

impl Allowed {
    /// Whether it has an effect in this command.
    fn has_effect(self, command: &str) -> bool {
        match self {
            Self::Rule(_) => true,
            Self::Denied | Self::Unused => ["record", "watch", "replay"].contains(&command),
            Self::Unrecorded => ["verify", "audit"].contains(&command),
        }
    }
}

/// The value of one of the `words`, or a rule; the error suggests one of the words where it resembles `word`.
fn one_of<T: Copy>(words: &[(&str, T)], word: &str, rule: fn(Rule) -> T) -> Result<T, String> {
    if let Some((_, value)) = words.iter().find(|(known, _)| *known == word) {
        return Ok(*value);
    }
    word.parse().map(rule).map_err(|unknown: UnknownRule| match nearest(word, words.iter().map(|(known, _)| *known)) {
        Some(keyword) => format!("`{word}` is not a rule; did you mean `{keyword}`?"),
        None => unknown.to_string(),
    })
}

/// Gives `--deny` and `--allow` of each command the values that only it takes.
#[must_use]
pub fn described(command: Command) -> Command {
    command.mut_subcommands(|sub| {
        let unused = "Do not fail on this rule, on `denied` hosts, or on a CMD that sends no request (`unused`), even if \
                      `--deny` names them; still reported; repeatable";
        let unrecorded = "Do not fail on this rule or on `unrecorded` exchanges, even if `--deny` names them; still \
                          reported; repeatable";
        let (values, help, allowed) = match sub.get_name() {
            "record" | "watch" => (
                "gaps|denied|RULE",
                "Also fail on every gap (`gaps`), on `denied` hosts, or on this rule; repeatable",
                ("RULE|denied|unused", unused),
            ),
            "replay" => (
                "gaps|unused|stale|age|RULE",
                "Also fail on every gap (`gaps`), on recorded exchanges that no request used (`unused`) or that do not \
                 fit the contract any more (`stale`), on recordings older than --max-age (`age`), or on this rule; \
                 repeatable",
                ("RULE|denied|unused", unused),
            ),
            "verify" | "audit" => (
                "gaps|unrecorded|RULE",
                "Also fail on every gap (`gaps`), on exchanges that a trail could not record (`unrecorded`; `audit` \
                 does), or on this rule; repeatable",
                ("RULE|unrecorded", unrecorded),
            ),
            _ => return sub,
        };
        sub.mut_arg("deny", |arg| arg.value_name(values).help(help))
            .mut_arg("allow", |arg| arg.value_name(allowed.0).help(allowed.1))
    })
}

impl PolicyArgs {
    /// Why a `--deny` or `--allow` that was `typed` has no effect in this command.
    #[must_use]
    pub fn misplaced(&self, command: &str, typed: &dyn Fn(&str) -> bool) -> Option<String> {
        let idle = |denied: &Denied| !denied.has_effect(command);
        let takes = |(word, denied): (&str, Denied)| denied.has_effect(command).then(|| format!("`{word}`"));
        let (wrong, taken) = if typed("deny")
            && let Some(denied) = self.deny.iter().find(|denied| idle(denied))
        {
            let (word, _) = DENIED_WORDS.into_iter().find(|(_, known)| known == denied)?;
            (format!("--deny {word}"), DENIED_WORDS.into_iter().filter_map(takes).collect())
        } else if typed("allow")
            && let Some(allowed) = self.allow.iter().find(|allowed| !allowed.has_effect(command))
        {
            let (word, _) = ALLOWED_WORDS.into_iter().find(|(_, known)| known == allowed)?;
            let takes = |(word, allowed): (&str, Allowed)| allowed.has_effect(command).then(|| format!("`{word}`"));
            (format!("--allow {word}"), ALLOWED_WORDS.into_iter().filter_map(takes).collect())
        } else {
            return None;
        };
        let taken = or(&[taken, vec!["a rule".to_owned()]].concat());
        Some(format!("{wrong} has no effect in {command}, which takes {taken}; see `contrail {command} --help`"))
    }

    /// What does not make the command fail: the baseline, which it reads, and what is suppressed today (UTC).
    ///
    /// # Errors
    ///
    /// The baseline cannot be read, or is no JSON report.
    pub fn exemptions(&self) -> Result<Exemptions, Failure> {
        let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
        Ok(Exemptions::new(self.baseline()?, self.suppressions.clone(), today))
    }

    fn baseline(&self) -> Result<Option<Baseline>, Failure> {
        let Some(file) = &self.baseline else { return Ok(None) };
        let shown = file.display();
        let text = fs::read_to_string(file).map_err(|error| format!("--baseline: cannot read {shown}: {error}"))?;
        let baseline = Baseline::parse(shown.to_string(), &text).map_err(|error| {
            format!("--baseline: {shown} is not a JSON report of verify, record, watch, replay or audit ({error}); --report json=FILE writes one")
        })?;
        Ok(Some(baseline))
    }

    /// Whether requests that were denied because of their host make replay fail.
    #[must_use]
    pub fn fails_on_denied(&self) -> bool {
        !self.allow.contains(&Allowed::Denied)
    }

    /// Applies `--deny denied` to a recording or a watch, which otherwise end well where a host was denied; whether it
    /// fails.
    #[must_use]
    pub fn denies_hosts(&self, collector: &mut Collector) -> bool {
        let is_denied = collector.run().denied().next().is_some();
        let fails = is_denied && self.deny.contains(&Denied::Hosts) && self.fails_on_denied();
        collector.denied_fails(fails);
        fails
    }

    /// Whether a run of `record`, `watch` or `replay` may receive nothing.
    #[must_use]
    pub fn allows_unused(&self) -> bool {
        self.allow.contains(&Allowed::Unused)
    }

    /// Whether exchanges that a trail or journal could not record make the command fail, which they do `by_default` or
    /// where `--deny` names them.
    #[must_use]
    pub fn fails_on_unrecorded(&self, by_default: bool) -> bool {
        !self.allow.contains(&Allowed::Unrecorded) && (by_default || self.deny.contains(&Denied::Unrecorded))
    }

    /// Whether recorded exchanges that no request used make replay fail.
    #[must_use]
    pub fn fails_on_unused(&self) -> bool {
        self.deny.contains(&Denied::Unused) && !self.allows_unused()
    }

    /// Whether recorded exchanges that do not fit the contract any more make replay fail.
    #[must_use]
    pub fn fails_on_stale(&self) -> bool {
        self.deny.contains(&Denied::Stale)
    }

    /// Whether recordings that are older than `--max-age` make replay fail.
    #[must_use]
    pub fn denies_age(&self) -> bool {
        self.deny.contains(&Denied::Age)
    }

    /// Whether a finding of this rule makes the command fail. `--allow` beats `--deny`.
    #[must_use]
    pub fn fails_on_rule(&self, rule: Rule) -> bool {
        if self.allow.contains(&Allowed::Rule(rule)) {
            return false;
        }
        rule.kind() == Kind::Violation
            || self.deny.iter().any(|denied| match denied {
                Denied::Gaps => true,
                Denied::Unused | Denied::Stale | Denied::Age | Denied::Hosts | Denied::Unrecorded => false,
                Denied::Rule(named) => *named == rule,
            })
    }

    /// Whether this finding makes the command fail.
    #[must_use]
    pub fn fails_on(&self, finding: &Finding) -> bool {
        self.fails_on_rule(finding.rule)
    }

    /// Whether this verdict makes the command fail.
    #[must_use]
    pub fn fails(&self, verdict: &Verdict) -> bool {
        verdict.findings.iter().any(|finding| self.fails_on(finding))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(deny: &[&str], allow: &[&str]) -> PolicyArgs {
        PolicyArgs {
            deny: deny.iter().map(|word| word.parse().unwrap()).collect(),
            allow: allow.iter().map(|word| word.parse().unwrap()).collect(),
            ..PolicyArgs::default()
        }
    }

    #[test]
    fn violations_fail_and_gaps_do_not() {
        let policy = policy(&[], &[]);
        assert!(policy.fails_on_rule(Rule::ResponseBody));
        assert!(!policy.fails_on_rule(Rule::QueryUndocumented));
    }

    #[test]
    fn deny_gaps_fails_on_every_gap_and_deny_rule_on_that_one_only() {
        assert!(policy(&["gaps"], &[]).fails_on_rule(Rule::QueryUndocumented));
        let one = policy(&["query.undocumented"], &[]);
        assert!(one.fails_on_rule(Rule::QueryUndocumented));
        assert!(!one.fails_on_rule(Rule::OperationUndocumented));
    }

    #[test]
    fn allow_beats_deny_and_beats_the_kind() {
        let policy = policy(&["gaps"], &["query.undocumented", "response.body"]);
        assert!(!policy.fails_on_rule(Rule::QueryUndocumented));
        assert!(!policy.fails_on_rule(Rule::ResponseBody));
        assert!(policy.fails_on_rule(Rule::OperationUndocumented));
    }
}

//! Results of a report as test cases: a suite per operation, in it one case that it was checked, one per group of the
//! same finding and one per missed request; then the denied hosts, the unused recordings, the proof, expired
//! suppressions, the chains of trails and what else sets the exit status.
//!
//! Names hold no counts and no places in a file, so that a CI system recognises a case in the next run.

use std::{collections::BTreeMap, time::Duration};

use contrail_exchange::{
    finding::{Kind, Rule, UNDOCUMENTED},
    plural::plural,
};

use super::{Cited, Facts, Group, Missed, Stale, Unused, exemptions::Exemption};

/// Maximum unused recorded exchanges that have a case of their own.
const MAX_UNUSED: usize = 1000;

/// Cases that belong together.
#[derive(Debug, Default)]
pub(super) struct Suite {
    pub(super) name: String,
    pub(super) properties: Vec<(&'static str, String)>,
    pub(super) cases: Vec<Case>,
    /// How many cases have a name.
    again: BTreeMap<String, usize>,
}

#[derive(Debug)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) took: Duration,
    /// `None` if it passed.
    pub(super) trouble: Option<Trouble>,
}

/// Why a case did not pass.
#[derive(Debug)]
pub(super) struct Trouble {
    pub(super) level: Level,
    /// A rule, or another word for what it is.
    pub(super) kind: &'static str,
    pub(super) message: String,
    /// More to read.
    pub(super) text: String,
    pub(super) count: u64,
    /// The first exchange that shows it.
    pub(super) cited: Option<Cited>,
    /// Why a suppression accepts it.
    pub(super) suppression: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// It does not set the exit status.
    Note,
    Failure,
    /// What no check of an exchange shows.
    Error,
}

impl Level {
    pub(super) fn of(fails: bool) -> Self {
        if fails { Self::Failure } else { Self::Note }
    }
}

impl Trouble {
    pub(super) fn new(level: Level, kind: &'static str, message: impl Into<String>) -> Self {
        Self { level, kind, message: message.into(), text: String::new(), count: 1, cited: None, suppression: None }
    }

    pub(super) fn with_text(self, text: impl Into<String>) -> Self {
        Self { text: text.into(), ..self }
    }

    pub(super) fn counted(self, count: u64) -> Self {
        Self { count, ..self }
    }

    /// What its kind stands for, in a line.
    pub(super) fn summary(&self) -> &'static str {
        if let Ok(rule) = self.kind.parse::<Rule>() {
            return rule.summary();
        }
        match self.kind {
            "replay-miss" => "no recording answers the request",
            "denied" => "the forward proxy opens no connection to the host",
            "unused" => "no request used the recorded exchange",
            "stale" => "the recorded exchange does not fit the contract any more",
            "proof" => "the fixture does not give back what was recorded, or would hold a secret",
            "suppression-expired" => "the date of the suppression has passed",
            "integrity" => "the trail was altered",
            "unproven" => "nothing proves that the recording is unaltered",
            "unrecorded" => "exchanges could not be recorded",
            "adopted" => "lines of the trail were adopted by a later process",
            "clock" => "the clock went back while the trail was written",
            "not-recorded" => "a trail has no exchange in hours in which others have some",
            "unread" => "files of the trail are not recordings",
            "secret" => "a secret is in the file",
            "changed" => "the exchange differs between the two recordings",
            "only-in-a" => "only the first recording has the exchange",
            "only-in-b" => "only the second recording has the exchange",
            "breaking" => "the change breaks clients of the old contract",
            "unclear" => "whether the change breaks a client is not decided",
            "non-breaking" => "the change breaks no client",
            "untouched" => "no exchange touches the part of the contract",
            "coverage" => "the recordings touch less of the contract than --min-coverage asks for",
            _ => "the command could not do all of its work, or something else failed",
        }
    }
}

impl Suite {
    pub(super) fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    pub(super) fn pass(&mut self, name: impl Into<String>, took: Duration) {
        self.cases.push(Case { name: name.into(), took, trouble: None });
    }

    pub(super) fn add(&mut self, name: impl Into<String>, trouble: Trouble) {
        self.cases.push(Case { name: name.into(), took: Duration::ZERO, trouble: Some(trouble) });
    }

    /// As [`Suite::add`]; a further case of the same name gets a number.
    pub(super) fn add_again(&mut self, name: String, trouble: Trouble) {
        let times = self.again.entry(name.clone()).or_default();
        *times += 1;
        let name = if *times == 1 { name } else { format!("{name} ({times})") };
        self.add(name, trouble);
    }

    fn missed(&mut self, missed: &Missed) {
        let mut text = format!("{} in all", missed.count);
        missed.near().for_each(|near| text.extend(["\n", &near]));
        let trouble = Trouble::new(Level::Failure, "replay-miss", &missed.detail).with_text(text);
        self.add(format!("replay {}", missed.request), trouble.counted(missed.count));
    }

    fn unused(&mut self, unused: &Unused, fails: bool) {
        let message = format!("{} was never requested", unused.entry);
        self.add_again(unused.request.clone(), Trouble::new(Level::of(fails), "unused", message));
    }

    /// States how many there are of something.
    pub(super) fn count(&mut self, what: &'static str, count: usize) {
        self.properties.push((what, count.to_string()));
    }

    fn filled(self) -> Option<Self> {
        (!self.cases.is_empty()).then_some(self)
    }
}

/// The suites of a command that judged exchanges.
pub(super) fn of(facts: &Facts<'_>) -> Vec<Suite> {
    let mut suites = operations(facts);
    suites.extend(sessions(facts));
    suites
        .extend([denied, unused, stale, proof, suppressions, integrity, exit].iter().filter_map(|suite| suite(facts)));
    suites
}

/// A suite per operation that was seen.
fn operations(facts: &Facts<'_>) -> Vec<Suite> {
    let tally = facts.tally;
    let (seen, recorded) = (tally.operations(), tally.recorded_operations());
    let mut suites: BTreeMap<&str, (Vec<&Group>, Vec<&Missed>)> =
        seen.keys().chain(recorded.keys()).map(|operation| (*operation, Default::default())).collect();
    for group in [Kind::Violation, Kind::Gap].into_iter().flat_map(|kind| tally.groups(kind)) {
        suites.entry(group.operation.as_deref().unwrap_or(UNDOCUMENTED)).or_default().0.push(group);
    }
    for missed in facts.run.misses().filter(|missed| missed.session.is_none()) {
        suites.entry(missed.operation.as_deref().unwrap_or(UNDOCUMENTED)).or_default().1.push(missed);
    }
    let suite = |(name, (groups, misses)): (&str, (Vec<&Group>, Vec<&Missed>))| {
        let mut suite = Suite::new(name);
        for (property, counts) in [("exchanges", &seen), ("recorded", &recorded)] {
            suite.properties.extend(counts.get(name).map(|count| (property, count.to_string())));
        }
        let took = tally.took((name != UNDOCUMENTED).then_some(name));
        suite.pass("checked against the contract", took);
        for group in groups {
            suite.add_again(group_name(group), finding(facts, group));
        }
        for missed in misses {
            suite.missed(missed);
        }
        suite
    };
    let mut suites: Vec<Suite> = suites.into_iter().map(suite).collect();
    let mut further = Suite::new("further places");
    for (rule, count) in tally.further() {
        let message = format!("{} at further places, not listed one by one", plural(count, "finding"));
        further.add(rule.id(), Trouble::new(Level::of(facts.fails(rule)), rule.id(), message).counted(count));
    }
    suites.extend(further.filled());
    if facts.run.further_misses > 0 {
        let mut suite = Suite::new("replay");
        let message = format!("{} of further requests", plural(facts.run.further_misses, "miss"));
        let trouble = Trouble::new(Level::Failure, "replay-miss", message);
        suite.add("further requests", trouble.counted(facts.run.further_misses));
        suites.push(suite);
    }
    suites
}

fn group_name(group: &Group) -> String {
    if group.place.is_empty() { group.rule.id().to_owned() } else { format!("{} at {}", group.rule.id(), group.place) }
}

fn finding(facts: &Facts<'_>, group: &Group) -> Trouble {
    let cited: &Cited = &group.sample.cited;
    let exempt = facts.exemption(group);
    let why = exempt.map(|exempt| format!("; {}", exempt.reason())).unwrap_or_default();
    let text = format!("{} in all; first: {cited}{why}", group.count);
    let level = Level::of(facts.fails(group.rule) && exempt.is_none());
    let trouble = Trouble::new(level, group.rule.id(), group.message());
    let suppression = exempt.and_then(Exemption::justification);
    Trouble { cited: Some(cited.clone()), suppression, ..trouble.with_text(text).counted(group.count) }
}

/// The hosts that the forward proxy denied.
fn denied(facts: &Facts<'_>) -> Option<Suite> {
    let run = facts.run;
    let mut suite = Suite::new("denied");
    let trouble = |reason: &str, count| {
        let message = format!("{reason}: {}", plural(count, "request"));
        Trouble::new(Level::of(run.denied_fails), "denied", message).counted(count)
    };
    for denied in run.denied() {
        suite.add(denied.host, trouble(denied.reason, denied.count));
    }
    if run.further_denied > 0 {
        suite.add("further hosts", trouble("denied", run.further_denied));
    }
    suite.filled()
}

/// A suite per session: what it missed, and what of its fixture it did not use.
fn sessions<'a>(facts: &'a Facts<'_>) -> impl Iterator<Item = Suite> + 'a {
    let run = facts.run;
    run.sessions.iter().map(move |(name, requests)| {
        let mut suite = Suite::new(format!("session {name}"));
        suite.count("requests", *requests);
        suite.pass("requests answered by the session's recordings", Duration::ZERO);
        let is_own = |session: &Option<String>| session.as_ref() == Some(name);
        for missed in run.misses().filter(|missed| is_own(&missed.session)) {
            suite.missed(missed);
        }
        for unused in run.unused().filter(|unused| is_own(&unused.session)).take(MAX_UNUSED) {
            suite.unused(unused, run.unused_fails);
        }
        suite
    })
}

/// The recorded exchanges that no request used.
fn unused(facts: &Facts<'_>) -> Option<Suite> {
    let unused = facts.run.unused.as_deref()?;
    let mut suite = Suite::new("unused");
    suite.properties.push(("unused", unused.len().to_string()));
    for unused in unused.iter().filter(|unused| unused.session.is_none()).take(MAX_UNUSED) {
        suite.unused(unused, facts.run.unused_fails);
    }
    suite.filled()
}

/// The recorded exchanges that do not fit the contract any more.
fn stale(facts: &Facts<'_>) -> Option<Suite> {
    let mut suite = Suite::new("stale");
    suite.count("stale", facts.run.stale.len());
    for Stale { entry, request, why, .. } in facts.run.stale.iter().take(MAX_UNUSED) {
        let message = format!("{entry}: {why}");
        suite.add_again(request.clone(), Trouble::new(Level::of(facts.run.stale_fails), "stale", message));
    }
    suite.filled()
}

/// The proof of the fixture that was written.
fn proof(facts: &Facts<'_>) -> Option<Suite> {
    const NAME: &str = "the fixture proves itself";
    let proof = facts.run.proof.as_ref()?;
    let mut suite = Suite::new("proof");
    if proof.good {
        suite.pass(NAME, Duration::ZERO);
    } else {
        let message = format!("the fixture failed its proof: {}", plural(proof.problems.len(), "problem"));
        suite.add(NAME, Trouble::new(Level::Failure, "proof", message).with_text(proof.problems.join("\n")));
    }
    Some(suite)
}

/// The suppressions that do not hold any more.
fn suppressions(facts: &Facts<'_>) -> Option<Suite> {
    let mut suite = Suite::new("suppressions");
    for expired in facts.exemptions.expired() {
        suite.add_again(expired.about(), Trouble::new(Level::Failure, "suppression-expired", expired.expiry()));
    }
    suite.filled()
}

/// The hash chains of trails, the exchanges that could not be recorded, and the files that nothing reads.
fn integrity(facts: &Facts<'_>) -> Option<Suite> {
    let mut suite = Suite::new("integrity");
    for one in &facts.run.integrity {
        let trail = &one.trail;
        let name = format!("the chain of {trail} is whole");
        match &one.broken {
            Some(broken) => suite.add(name, Trouble::new(Level::Failure, "integrity", broken)),
            None if one.entries.is_none() => {
                suite.add(name, Trouble::new(Level::Note, "unproven", one.sentence()));
            }
            None => suite.pass(name, Duration::ZERO),
        }
        let lost: Vec<String> = one.lost().collect();
        if !lost.is_empty() {
            let count = one.count_of_unrecorded();
            let message = format!("NOT RECORDED: {}", plural(count, "exchange"));
            let trouble =
                Trouble::new(Level::of(facts.run.unrecorded_fails), "unrecorded", message).with_text(lost.join("\n"));
            suite.add(format!("{trail} holds every exchange"), trouble.counted(count));
        }
        if let Some(adopted) = one.adoption() {
            let trouble = Trouble::new(Level::Note, "adopted", adopted).counted(one.adopted);
            suite.add(format!("{trail} has only lines of the process that wrote its chain"), trouble);
        }
        if let (Some(back), Some(steps)) = (one.clock(), &one.clock_back) {
            let trouble = Trouble::new(Level::Note, "clock", back).counted(steps.times);
            suite.add(format!("the clock of {trail} never went back"), trouble);
        }
        let missing: Vec<String> = one.not_recorded().collect();
        if !missing.is_empty() {
            let message = format!("not recorded: {} of hours that other trails have", plural(missing.len(), "span"));
            let trouble = Trouble::new(Level::Note, "not-recorded", message).with_text(missing.join("\n"));
            suite.add(format!("{trail} has exchanges where others have"), trouble.counted(missing.len() as u64));
        }
        let unread: Vec<String> = one.unread().collect();
        if !unread.is_empty() {
            let message = format!("not read: {}", plural(unread.len(), "file"));
            let trouble = Trouble::new(Level::Note, "unread", message).with_text(unread.join("\n"));
            suite.add(format!("every file in {trail} is read"), trouble.counted(unread.len() as u64));
        }
    }
    suite.filled()
}

/// The reasons for the exit status that no other case shows.
pub(super) fn exit(facts: &Facts<'_>) -> Option<Suite> {
    let exit = facts.run.exit.as_ref()?;
    let mut suite = Suite::new("exit");
    for reason in exit.further() {
        suite.add(reason.kind, Trouble::new(Level::Error, reason.kind, &reason.what).with_text(&reason.detail));
    }
    suite.filled()
}

//! Recordings, ready to answer: which recorded answer a request gets, and what was never asked.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use contrail_exchange::{Credential, Difference, Request, Target};
use contrail_proxy::upstream::{Miss, Reason, RequestKey};
use contrail_recording::{Entry, fixture::request_parts::Parts};

use super::{
    caller::{CallerCache, CallerId},
    conditions,
    grant::granted_members,
    index::Index,
    labels::{LabelAssignments, LiveValue},
    miss,
    sequence::{Asker, Choice, Exhausted, Sequence},
    serve::{self, Answer},
    sites::KnownSite,
    token_endpoint::{Reply, TokenEndpoint},
};

/// Maximum hosts that are remembered as likely the tenant's.
const MAX_HOSTS: usize = 1000;

/// Recordings, ready to answer.
pub struct Replay {
    pub(super) index: Index,
    tokens: TokenEndpoint,
    exhausted: Option<Exhausted>,
    state: Mutex<ReplayState>,
}

#[derive(Debug, Default)]
struct ReplayState {
    /// Requests that were found as they came, by their bytes.
    found: HashMap<Box<[u8]>, KnownRequest>,
    sequence: Sequence,
    taken: LabelAssignments,
    caller_cache: CallerCache<Option<CallerId>>,
    /// The host that is taken for the tenant, though neither an option nor a recording names it.
    tenant_host: Option<String>,
    /// Hosts of requests that the tenant has, though it does not answer them.
    likely_hosts: HashSet<String>,
    /// Entries whose loose match is printed already, and whether it lacked the credential.
    warned: HashSet<(u32, bool)>,
    /// The requests of each fault's scope.
    of_faults: Vec<u64>,
}

/// The recorded exchanges that a request is to be answered from.
struct Candidates {
    bucket: u32,
    /// Its values at places that were redacted, the header aside.
    live: Vec<LiveValue>,
    /// See [`Index::find`].
    exact: u32,
    same_request: Option<RequestKey>,
    remark: Option<String>,
}

/// What is known of requests of the same bytes.
#[derive(Debug, Clone)]
struct KnownRequest {
    bucket: u32,
    live: Vec<LiveValue>,
    exact: u32,
    key: RequestKey,
}

/// A recorded answer, and remarks to print beside it.
#[derive(Debug, Clone)]
pub struct Served {
    /// What goes out.
    pub answer: Answer,
    /// How long it took when it was recorded.
    pub recorded_time: Duration,
    /// Milliseconds from its head to the end of each of its events, if it is an event stream that has them.
    pub event_times: Option<Box<[u64]>>,
    /// The client had closed its side before the answer began.
    pub after_close: bool,
    /// The answer is from a recording of contrail's own, so there is no secret in it.
    pub clean: bool,
    /// Shared by requests of the same bytes.
    pub same_request: Option<RequestKey>,
    /// What the match needed (once per entry), where a fresh token's scopes come from. Never a secret.
    pub remarks: Vec<String>,
}

/// A recorded exchange.
#[derive(Debug, Clone)]
pub struct RecordedExchange<'a> {
    /// The name of its recording.
    pub source: &'a str,
    /// Whether any entry of its recording that another tool wrote carries an `Authorization` header.
    pub carries_authorization: bool,
    /// The exchange.
    pub entry: &'a Entry,
}

/// A recorded exchange that does not replay as itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unproven {
    /// The recording and the entry's index in it.
    pub entry: String,
    /// Method and target.
    pub request: String,
    /// What happens instead.
    pub instead: String,
}

impl Replay {
    /// Answers by `index`; nothing was asked yet.
    pub(super) fn new(index: Index, tokens: TokenEndpoint, exhausted: Option<Exhausted>) -> Self {
        Self { index, tokens, exhausted, state: Mutex::default() }
    }

    /// Answers `request`. `redact` replaces secrets by the plan that made the recording: it is asked where the request
    /// as it came was not recorded, and for what a miss shows.
    ///
    /// A place that the recording holds redacted matches any value of its type, so that most requests match as they
    /// came. The n-th time that a request is asked, it gets the n-th recorded answer. A miss consumes nothing.
    ///
    /// # Errors
    ///
    /// [`Miss`] if nothing fits, every answer has been given, or what fits cannot be served.
    pub fn answer(
        &self,
        request: &Request,
        redact: &dyn Fn(&Request) -> Request,
        now: SystemTime,
    ) -> Result<Served, Box<Miss>> {
        let is_token_request = self.is_token_request(request);
        if is_token_request
            && let Reply::Token { answer, stands_for, remarks } = self.tokens.reply(&self.index, request, now)
        {
            let mut state = self.state();
            for entry in stands_for {
                state.sequence.mark(entry);
            }
            let recorded_time = Duration::ZERO;
            let (event_times, same_request) = (None, None);
            return Ok(Served {
                answer,
                recorded_time,
                event_times,
                after_close: false,
                clean: false,
                same_request,
                remarks,
            });
        }
        let Candidates { bucket, mut live, exact, same_request, remark } = self.find(request, redact)?;
        let repeats = request.method.is_safe() || is_token_request;
        let exhausted = self.exhausted.unwrap_or(if repeats { Exhausted::Repeat } else { Exhausted::Miss });
        let mut state = self.state();
        let known = || self.index.callers.known(&request.credential);
        let caller = state.caller_cache.of(&request.credential, known);
        let mut is_read = false;
        if self.index.labels.differ {
            // What tells callers apart is known of them, but for a user who was not recorded.
            is_read = match &request.credential {
                Credential::Token(facts) => facts.user.is_none() || caller.is_some_and(|caller| caller.user != 0),
                Credential::OtherScheme { user, .. } => user.is_some(),
                _ => false,
            };
            self.index.label_reader().add_header(&request.headers, is_read, &mut live);
        }
        let state_of = &mut *state;
        let asker = Asker { caller, headers: &request.headers, label_sets: &[], exact };
        let entry = match self.next(&mut state_of.sequence, &mut state_of.taken, bucket, asker, &live, exhausted) {
            Choice::Serve(entry) => entry,
            Choice::Exhausted(last, recorded) => {
                let reason = Reason::Exhausted { last: self.index.name(last), recorded };
                return Err(Box::new(miss::of_entry(&self.index, reason, &redact(request), last)));
            }
            Choice::Conditional(entry) => {
                let status = self.index.held[entry as usize].status;
                let redacted = redact(request);
                let differences = conditions::differences(&redacted.headers, &self.index.request(entry).headers);
                let lists = |side: fn(&Difference) -> &Option<String>| {
                    let fields =
                        differences.iter().filter_map(|one| Some(format!("`{}: {}`", one.place, side(one).as_ref()?)));
                    let fields: Vec<String> = fields.collect();
                    if fields.is_empty() { "neither condition nor range".to_owned() } else { fields.join(", ") }
                };
                let (fixture, yours) = (lists(|one| &one.fixture), lists(|one| &one.yours));
                let why = format!("it is the {status} to a request with {fixture}, and this request has {yours}");
                let advice = "Record this one, too, with `contrail record --append`.";
                let reason = Reason::Unservable { entry: self.index.name(entry), why, advice };
                let mut miss = miss::of_entry(&self.index, reason, &redacted, entry);
                miss.nearest[0].differences = differences;
                return Err(Box::new(miss));
            }
            Choice::Unservable(entry) => return Err(Box::new(self.unservable_miss(entry, &redact(request)))),
        };
        if is_read && caller.is_some() {
            let recorded = self.index.labels.get(self.index.variant(entry).labels);
            state_of.taken.keep_credential(&self.index.rules.keys, recorded);
        }
        let mut answer = match self.index.answer(entry) {
            Some(answer) if is_token_request => self.tokens.renew(request, answer, now),
            Some(answer) => answer,
            None => return Err(Box::new(self.unservable_miss(entry, &redact(request)))),
        };
        let is_renewed = answer.ages && self.tokens.freshen(&mut answer, now);
        let is_echo = self.index.rules.echo(request, || self.index.request(entry), &mut answer);
        let mask = self.index.mask(bucket);
        let mut remarks = Vec::from_iter(remark);
        let lacks = self.index.lacks_credential_of(entry, request);
        if (!mask.is_exact() || lacks) && state.warned.insert((entry, lacks)) {
            let lacking = "it was recorded with a credential, and this request has none";
            let reasons = [(!mask.is_exact()).then(|| mask.describe()), lacks.then(|| lacking.to_owned())];
            let reasons: Vec<String> = reasons.into_iter().flatten().collect();
            remarks.push(format!("matches {} although {}", self.index.name(entry), reasons.join(", and ")));
        }
        if answer.status == serve::SILENCE {
            let name = self.index.name(entry);
            remarks.push(format!("{name} has no answer: its client gave up"));
        }
        Ok(Served {
            answer,
            recorded_time: self.index.entry(entry).exchange.timings.total(),
            event_times: self.index.entry(entry).exchange.transport.event_times.clone(),
            after_close: self.index.entry(entry).exchange.transport.client_closed,
            clean: self.index.held[entry as usize].by_contrail && !is_token_request && !is_renewed && !is_echo,
            same_request: same_request.filter(|_| !is_token_request),
            remarks,
        })
    }

    /// Where in a request a label or a token of replay's stands; `None` if none does. Binary bodies have none.
    pub(super) fn label_in(&self, request: &Request) -> Option<String> {
        let has_label = self.index.label_reader().has_label;
        let holds = |text: &str| {
            let decoded = percent_encoding::percent_decode_str(text).decode_utf8_lossy();
            has_label(text) || has_label(&decoded) || self.tokens.is_in(text)
        };
        if holds(&request.target.path_and_query) {
            return Some("target".to_owned());
        }
        let mut fields = request.headers.iter();
        if let Some((name, _)) = fields.find(|(_, value)| value.to_str().is_ok_and(holds)) {
            return Some(format!("field `{name}`"));
        }
        std::str::from_utf8(&request.body.content).is_ok_and(holds).then(|| "body".to_owned())
    }

    /// Of a token request, whether its like is recorded: of a client's own tokens one of the same client, else the same
    /// request; `None` for any other request.
    pub(super) fn known_token(&self, request: &Request, redact: &dyn Fn(&Request) -> Request) -> Option<bool> {
        let is_like = |own| own || self.find(request, redact).is_ok();
        self.is_token_request(request).then(|| self.tokens.is_clients_own(request).is_some_and(is_like))
    }

    /// A recorded token request got this answer from another upstream: its token stands for those that were recorded.
    pub(super) fn granted(&self, request: &Request, redact: &dyn Fn(&Request) -> Request, answer: Bytes) {
        let token = |body| Some(granted_members(200, body)?.get("access_token")?.as_str()?.to_owned());
        let (Some(live), Ok(found)) = (token(answer), self.find(request, redact)) else { return };
        let mut state = self.state();
        for entry in &self.index.buckets[found.bucket as usize].entries {
            if let Some(recorded) = self.index.answer(*entry).and_then(|answer| token(answer.body?)) {
                state.taken.take(&self.index.rules.keys, &live, &recorded);
            }
        }
    }

    /// Whether this is a request to a token endpoint of the tenant. A host that nothing names is not taken for the
    /// tenant by that alone: other vendors have such a path, too.
    pub(super) fn is_token_request(&self, request: &Request) -> bool {
        if !self.index.rules.tenant.is_token_request(&request.method, request.target.path()) {
            return false;
        }
        let mut parts = self.index.rules.parts_of(request);
        if self.index.known_site(&parts.site) != KnownSite::Unknown {
            return self.index.is_tenant(&parts.site);
        }
        let mut state = self.state();
        if !self.index.may_be_the_tenant() || state.tenant_host.as_ref().is_some_and(|host| *host != bare(&parts.site))
        {
            return false;
        }
        let host = bare(&std::mem::take(&mut parts.site)).to_owned();
        let is_recorded = self.index.lines_of(&parts).any(|line| self.index.line(line).is_some());
        if is_recorded {
            state.tenant_host = Some(host);
        }
        is_recorded
    }

    /// The names of the upstreams; none where none has a name.
    pub(super) fn upstreams(&self) -> &[String] {
        &self.index.rules.names.upstreams
    }

    /// Whether a host has recordings of its own, under its own name.
    pub(super) fn has_recordings_of(&self, target: &Target) -> bool {
        self.index.known_site(&target.site()) == KnownSite::Recorded
    }

    /// Whether the host of this origin has recordings of its own, under its own name.
    #[must_use]
    pub fn has_recordings_of_origin(&self, origin: &str) -> bool {
        origin.split_once("://").is_some_and(|(scheme, host)| self.has_recordings_of(&Target::new(scheme, host, "/")))
    }

    /// The host of a request that nothing answers, if nothing says that it is the tenant's: it is neither recorded nor
    /// named, and no request with this method and path is recorded or documented. With it, whether it may be the
    /// tenant's all the same.
    pub(super) fn stranger(&self, request: &Request) -> Option<(String, bool)> {
        let mut parts = self.index.rules.parts_of(request);
        let is_known = self.index.known_site(&parts.site) != KnownSite::Unknown || self.index.is_named(&parts.site);
        if is_known || self.knows(&parts.site) {
            return None;
        }
        let host = std::mem::take(&mut parts.site);
        let recorded = self.index.lines_of(&parts).any(|line| self.index.line(line).is_some());
        if recorded || self.index.rules.operation(&host, request.method.as_str(), request.target.path()).is_some() {
            let mut state = self.state();
            if state.likely_hosts.len() < MAX_HOSTS {
                state.likely_hosts.insert(host);
            }
            return None;
        }
        Some((host, self.index.lacks_the_tenants_name()))
    }

    /// Whether a host, with its port, turned out to be the tenant's.
    #[must_use]
    pub fn knows(&self, host: &str) -> bool {
        let state = self.state();
        state.tenant_host.as_deref() == Some(bare(host)) || state.likely_hosts.contains(host)
    }

    /// How many exchanges are recorded.
    #[must_use]
    pub fn len(&self) -> usize {
        self.index.held.len()
    }

    /// The names of the recordings.
    pub fn sources(&self) -> impl Iterator<Item = &str> {
        self.index.sources.iter().map(|source| &*source.name)
    }

    /// Whether nothing is recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.index.held.is_empty()
    }

    /// The recorded exchanges in recorded order.
    pub fn entries(&self) -> impl Iterator<Item = RecordedExchange<'_>> {
        (0_u32..).zip(&self.index.held).map(|(number, held)| {
            let source = &self.index.sources[held.source as usize];
            let entry = self.index.entry(number);
            RecordedExchange { source: &source.name, carries_authorization: source.carries_authorization, entry }
        })
    }

    /// The recorded exchanges that are the same request: as it came, else redacted.
    fn find(&self, request: &Request, redact: &dyn Fn(&Request) -> Request) -> Result<Candidates, Box<Miss>> {
        /// Maximum requests found by their bytes; beyond it, the cache is emptied.
        const MAX_FOUND: usize = 16_384;
        let sent = self.index.rules.keys.sent(request);
        if let Some(KnownRequest { bucket, live, exact, key }) = self.state().found.get(&*sent) {
            let (bucket, live, same_request) = (*bucket, live.clone(), Some(key.clone()));
            return Ok(Candidates { bucket, live, exact: *exact, same_request, remark: None });
        }
        let mut parts = Parts::of(request);
        let mut host = None;
        match self.index.known_site(&parts.site) {
            KnownSite::Tenant => parts.site.clear(),
            KnownSite::Recorded => {}
            // One host that nothing names may be the tenant's. No second one is: it would get the first one's answers.
            // Nor is one where an option names the tenant.
            KnownSite::Unknown => {
                if self.index.may_be_the_tenant()
                    && self.state().tenant_host.as_ref().is_none_or(|known| *known == bare(&parts.site))
                {
                    host = Some(std::mem::take(&mut parts.site));
                }
            }
        }
        let site = parts.site.clone();
        let taken = |host: Option<String>| {
            let mut state = self.state();
            let is_new = host.is_some() && state.tenant_host.is_none();
            let remark = host.as_ref().filter(|_| is_new).map(|host| format!("{host} is taken for the tenant"));
            if is_new {
                state.tenant_host = host.map(|host| bare(&host).to_owned());
            }
            remark
        };
        if let Some((bucket, exact)) = self.index.find(&parts, &parts) {
            let live = self.index.live_values(bucket, &parts);
            let remark = taken(host);
            let found = &mut self.state().found;
            if found.len() >= MAX_FOUND {
                found.clear();
            }
            let key = RequestKey::default();
            found.insert((*sent).into(), KnownRequest { bucket, live: live.clone(), exact, key: key.clone() });
            return Ok(Candidates { bucket, live, exact, same_request: Some(key), remark });
        }
        let redacted = redact(request);
        let raw = parts;
        let mut parts = Parts { site, ..Parts::of(&redacted) };
        let Some((bucket, exact)) = self.index.find(&parts, &raw) else {
            if let Some(host) = host.filter(|_| !self.index.lacks_the_tenants_name()) {
                parts.site = host;
            }
            return Err(Box::new(miss::unknown(&self.index, &redacted, &parts, &raw)));
        };
        let live = self.index.live_values(bucket, &raw);
        Ok(Candidates { bucket, live, exact, same_request: None, remark: taken(host) })
    }

    /// The entry that answers a request with these values. Where it could have several sets of labels, it has the first
    /// that nothing else has; once that one's answers are given, one more.
    fn next(
        &self,
        sequence: &mut Sequence,
        taken: &mut LabelAssignments,
        bucket: u32,
        asker: Asker<'_>,
        live: &[LiveValue],
        exhausted: Exhausted,
    ) -> Choice {
        if !self.index.labels.differ {
            return sequence.next(&self.index, bucket, asker, exhausted, true);
        }
        let (table, sets) = (&self.index.labels, &self.index.buckets[bucket as usize].label_sets);
        let several = sets.len() > 1;
        let mut label_sets = taken.choose(table, sets, live, false);
        loop {
            let asker = Asker { label_sets: &label_sets, ..asker };
            match sequence.next(&self.index, bucket, asker, exhausted, !several) {
                Choice::Exhausted(..) if several => {
                    if taken.choose(table, sets, live, true).is_empty() {
                        return sequence.next(&self.index, bucket, asker, exhausted, true);
                    }
                    label_sets = taken.choose(table, sets, live, false);
                }
                choice => return choice,
            }
        }
    }

    /// Replays the recordings against themselves: every recorded request, asked in recorded order, has to get its own
    /// answer. Returns those that do not, with what they get instead. What cannot be served at all is in
    /// [`Replay::unfit`]; nothing is used up.
    #[must_use]
    pub fn proof(&self) -> Vec<Unproven> {
        let (mut sequence, mut taken) = (Sequence::default(), LabelAssignments::default());
        let mut unproven = Vec::new();
        for (entry, held) in (0_u32..).zip(&self.index.held) {
            if held.is_unfit() {
                continue;
            }
            let request = self.index.request(entry);
            if self.is_token_request(&request) {
                continue;
            }
            let caller = self.index.callers.known(&request.credential);
            let live = self.index.labels.get(self.index.variant(entry).labels).live();
            let parts = self.index.rules.parts_of(&request);
            let instead = match self.index.find(&parts, &parts) {
                None => "it matches nothing".to_owned(),
                Some((bucket, exact)) => {
                    let asker = Asker { caller, headers: &request.headers, label_sets: &[], exact };
                    match self.next(&mut sequence, &mut taken, bucket, asker, &live, Exhausted::Miss) {
                        Choice::Serve(other) if other == entry && !held.trailers => continue,
                        Choice::Serve(other) if other == entry => {
                            "its answer had trailer fields, which are not recorded".to_owned()
                        }
                        Choice::Serve(other) => format!("it gets the answer of {}", self.index.name(other)),
                        Choice::Exhausted(..) | Choice::Unservable(_) | Choice::Conditional(_) => {
                            "there is no answer left for it".to_owned()
                        }
                    }
                }
            };
            unproven.push(Unproven {
                entry: self.index.name(entry),
                request: self.index.asked(entry).to_owned(),
                instead,
            });
        }
        unproven
    }

    /// Begins again: no answer was given, and no fault counts a request. Which host is the tenant's stays known.
    pub fn restart(&self) {
        let mut state = self.state();
        (state.sequence, state.taken, state.of_faults) = Default::default();
    }

    /// Counts a request of this fault's scope; its number, from 1.
    pub(super) fn count(&self, fault: usize) -> u64 {
        let counts = &mut self.state().of_faults;
        if counts.len() <= fault {
            counts.resize(fault + 1, 0);
        }
        counts[fault] += 1;
        counts[fault]
    }

    /// Recorded exchanges that were never requested (and could have been served), with their method and target.
    #[must_use]
    pub fn unused(&self) -> Vec<(String, String)> {
        let state = self.state();
        (0_u32..)
            .zip(&self.index.held)
            .filter(|(entry, held)| !held.is_unfit() && state.sequence.served(*entry) == 0)
            .map(|(entry, _)| (self.index.name(entry), self.index.asked(entry).to_owned()))
            .collect()
    }

    /// Recorded exchanges that are never served, by the reason.
    #[must_use]
    pub fn unfit(&self) -> BTreeMap<String, Vec<(String, String)>> {
        let mut reasons: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
        for (entry, _) in (0_u32..).zip(&self.index.held) {
            if let Some(why) = self.index.unfit(entry) {
                let asked = self.index.asked(entry).to_owned();
                reasons.entry(why.to_string()).or_default().push((self.index.name(entry), asked));
            }
        }
        reasons
    }

    /// Recorded requests that get no answer before their client closes its side, since it did so when they were recorded:
    /// the name of the entry, and the request.
    #[must_use]
    pub fn silent(&self) -> Vec<(String, String)> {
        let is_closed = |entry: u32| self.index.entry(entry).exchange.transport.client_closed;
        let entries = (0_u32..)
            .zip(&self.index.held)
            .filter(|(entry, held)| !held.is_unfit() && (held.status == serve::SILENCE || is_closed(*entry)));
        entries.map(|(entry, _)| (self.index.name(entry), self.index.asked(entry).to_owned())).collect()
    }

    fn unservable_miss(&self, entry: u32, redacted: &Request) -> Miss {
        let why = self.index.unfit(entry).unwrap_or("no answer was recorded").to_owned();
        let advice = serve::advice(&self.index.entry(entry).exchange);
        miss::of_entry(&self.index, Reason::Unservable { entry: self.index.name(entry), why, advice }, redacted, entry)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, ReplayState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The host without a port that is a scheme's own: one host has both.
fn bare(host: &str) -> &str {
    host.strip_suffix(":443").or_else(|| host.strip_suffix(":80")).unwrap_or(host)
}

impl std::fmt::Debug for Replay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replay").field("entries", &self.index.held.len()).finish_non_exhaustive()
    }
}

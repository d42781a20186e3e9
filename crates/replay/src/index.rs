//! The recorded exchanges by what was asked: a hash look-up, not a scan.
//!
//! A request goes to its *line* (site, method and raw path), from there, under each mask that any entry of that line needs,
//! to a *bucket*: the recorded exchanges of one identity, in recorded order.

use std::{
    borrow::Cow,
    hash::Hash,
    sync::{Arc, OnceLock},
};

use ahash::{AHashMap, AHashSet};
use contrail_exchange::{Credential, Difference, Headers, Request, is_upstream_name};
use contrail_recording::{Entry, IgnoreSet, fixture::request_parts::Parts};

use super::{
    caller::{CallerCache, CallerId, Callers, number_of},
    conditions::Conditions,
    fields::{self, Fields},
    labels::{LabelReader, LabelTable, LiveValue},
    mask::{Key, Mask},
    prepared::{Prepared, Rules},
    serve::Answer,
    sites::KnownSite,
};

/// What tells apart requests of one identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Variant {
    pub(super) caller: CallerId,
    /// As an index into the sets of labels.
    pub(super) labels: u32,
    /// As an index into the sets of header fields.
    pub(super) fields: u32,
    /// The number of its key without what is ignored; 0 where nothing is.
    pub(super) exact: u32,
}

/// One recorded exchange: what finding and telling it needs. The rest of it is elsewhere.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)] // independent facts
pub(super) struct RecordedExchange {
    /// Which fixture, as an index into the sources.
    pub(super) source: u32,
    variant: Variant,
    /// Method and target, without the origin. They hold no secret.
    asked: Box<str>,
    /// The recorded status; 0 if there is none.
    pub(super) status: u16,
    pub(super) conditions: Conditions,
    /// contrail wrote it, so there is no secret in it.
    pub(super) by_contrail: bool,
    /// Its request counts as redaction makes it.
    redacted: bool,
    /// Why it is never served.
    unfit: Option<Box<str>>,
    /// The place that its recording states, of its entries.
    order: Option<u32>,
    /// Its response had trailer fields, which the recording lacks.
    pub(super) trailers: bool,
    /// Its answer, if it gives one.
    answer: Option<Answer>,
    entry: Box<Entry>,
}

impl RecordedExchange {
    /// Whether it is never served.
    pub(super) fn is_unfit(&self) -> bool {
        self.unfit.is_some()
    }
}

/// One recording.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) name: Arc<str>,
    /// An entry of it that another tool wrote carries an `Authorization` header.
    pub(super) carries_authorization: bool,
}

/// A host without its port.
fn name_of(host_and_port: &str) -> &str {
    host_and_port.rsplit_once(':').map_or(host_and_port, |(name, _)| name)
}

/// The scheme of an origin with this host and port.
fn scheme_of(host_and_port: &str) -> &'static str {
    if host_and_port.ends_with(":443") { "https" } else { "http" }
}

/// Entries of one identity.
#[derive(Debug)]
pub(super) struct Bucket {
    /// In recorded order.
    pub(super) entries: Vec<u32>,
    /// The different sets of labels that they have.
    pub(super) label_sets: Vec<u32>,
    /// The different sets of header fields that they have.
    field_sets: Vec<u32>,
    mask: Arc<Mask>,
    /// One of them was recorded under conditions.
    pub(super) conditional: bool,
}

/// Entries of one method and path.
#[derive(Debug)]
pub(super) struct RouteEntries {
    /// The masks in use, most specific first.
    masks: Vec<Arc<Mask>>,
    /// In recorded order.
    pub(super) entries: Vec<u32>,
    ignored: IgnoreSet,
}

/// The place of what has this key in a list; it is added where nothing has.
fn place_of<K: Eq + Hash, T>(
    places: &mut AHashMap<K, u32>,
    key: K,
    list: &mut Vec<T>,
    new: impl FnOnce(&K) -> T,
) -> u32 {
    *places.entry(key).or_insert_with_key(|key| {
        list.push(new(key));
        u32::try_from(list.len() - 1).unwrap_or(u32::MAX)
    })
}

/// Recorded exchanges, ready to be found.
pub(super) struct Index {
    pub(super) rules: Arc<Rules>,
    pub(super) sources: Vec<Source>,
    pub(super) held: Vec<RecordedExchange>,
    pub(super) callers: Callers,
    caller_cache: CallerCache<CallerId>,
    /// In recorded order, numbered by `by_key`.
    pub(super) buckets: Vec<Bucket>,
    by_key: AHashMap<Key, u32>,
    /// In recorded order, numbered by `by_line`.
    lines: Vec<RouteEntries>,
    by_line: AHashMap<Key, u32>,
    /// Path masks that are not empty, by method and number of segments.
    path_masks: AHashMap<(String, usize), Vec<Vec<usize>>>,
    pub(super) labels: LabelTable,
    field_sets: Vec<Fields>,
    field_set_ids: AHashMap<Fields, u32>,
    exact_keys: AHashMap<Key, u32>,
    /// The mask of requests without a redacted place.
    exact: Arc<Mask>,
    /// The recorded sites, as host and port; empty for the tenant.
    pub(super) sites: AHashSet<String>,
    /// The upstreams that journals name.
    upstreams: AHashSet<String>,
    /// The lines by their documented operation, as places in `lines`; made when a request misses.
    by_operation: OnceLock<AHashMap<Option<Arc<str>>, Vec<usize>>>,
}

impl Index {
    pub(super) fn new(rules: Rules) -> Self {
        Self {
            rules: Arc::new(rules),
            sources: Vec::new(),
            held: Vec::new(),
            callers: Callers::default(),
            caller_cache: CallerCache::default(),
            buckets: Vec::new(),
            by_key: AHashMap::new(),
            lines: Vec::new(),
            by_line: AHashMap::new(),
            path_masks: AHashMap::new(),
            labels: LabelTable::default(),
            field_sets: Vec::new(),
            field_set_ids: AHashMap::new(),
            exact_keys: AHashMap::new(),
            exact: Arc::default(),
            sites: AHashSet::new(),
            upstreams: AHashSet::new(),
            by_operation: OnceLock::new(),
        }
    }

    /// Starts a fixture; entries that follow are its own.
    pub(super) fn source(&mut self, name: &str) {
        self.sources.push(Source { name: name.into(), carries_authorization: false });
    }

    /// Takes in an entry of the fixture started last.
    pub(super) fn push(&mut self, prepared: Prepared) {
        let number = u32::try_from(self.held.len()).unwrap_or(u32::MAX);
        let Prepared { mask, ignored, .. } = prepared;
        // Most are alike.
        let mask = if mask.is_exact() { Arc::clone(&self.exact) } else { Arc::new(mask) };
        if let Some(shape) = prepared.shape {
            let shapes = self.path_masks.entry(shape).or_default();
            if !shapes.contains(&mask.segments) {
                shapes.push(mask.segments.clone());
            }
        }
        let line = place_of(&mut self.by_line, prepared.line, &mut self.lines, |_| RouteEntries {
            masks: Vec::new(),
            entries: Vec::new(),
            ignored,
        });
        let line = &mut self.lines[line as usize];
        line.entries.push(number);
        if let Err(place) = line.masks.binary_search(&mask) {
            line.masks.insert(place, Arc::clone(&mask));
        }
        let labels = self.labels.number(prepared.labels, prepared.label_headers);
        let fields = place_of(&mut self.field_set_ids, prepared.fields, &mut self.field_sets, Fields::clone);
        let exact = prepared.exact.map_or(0, |key| number_of(&mut self.exact_keys, key));
        let conditional = prepared.conditions.any();
        let bucket = place_of(&mut self.by_key, prepared.key, &mut self.buckets, |_| Bucket {
            entries: Vec::new(),
            label_sets: Vec::new(),
            field_sets: Vec::new(),
            mask,
            conditional: false,
        });
        let bucket = &mut self.buckets[bucket as usize];
        bucket.entries.push(number);
        bucket.conditional |= conditional;
        if !bucket.label_sets.contains(&labels) {
            self.labels.differ |= !bucket.label_sets.is_empty();
            bucket.label_sets.push(labels);
        }
        if !bucket.field_sets.contains(&fields) {
            bucket.field_sets.push(fields);
        }
        if let Some(source) = self.sources.last_mut() {
            source.carries_authorization |= prepared.carries_authorization;
        }
        if !self.sites.contains(&prepared.site) {
            self.sites.insert(prepared.site);
        }
        if let Some(upstream) = prepared.upstream.filter(|upstream| !self.upstreams.contains(upstream)) {
            self.upstreams.insert(upstream);
        }
        let intern = || self.callers.intern(&prepared.credential);
        let caller = self.caller_cache.of(&prepared.credential, intern);
        self.held.push(RecordedExchange {
            source: u32::try_from(self.sources.len().saturating_sub(1)).unwrap_or(u32::MAX),
            variant: Variant { caller, labels, fields, exact },
            asked: prepared.asked.into(),
            status: prepared.status,
            conditions: prepared.conditions,
            by_contrail: prepared.by_contrail,
            redacted: prepared.redacted,
            trailers: prepared.trailers,
            unfit: prepared.unfit,
            order: prepared.order,
            answer: prepared.answer,
            entry: prepared.entry,
        });
    }

    /// Everything was taken in.
    pub(super) fn complete(&mut self) {
        self.caller_cache = CallerCache::default();
        self.labels.complete();
        self.field_set_ids = AHashMap::default();
        let held = &self.held;
        let at = |entry: &u32| (held[*entry as usize].source, held[*entry as usize].order, *entry);
        for bucket in &mut self.buckets {
            bucket.entries.sort_unstable_by_key(at);
        }
    }

    /// What tells a recorded exchange apart from others of its identity.
    pub(super) fn variant(&self, entry: u32) -> Variant {
        self.held[entry as usize].variant
    }

    /// A recorded exchange, whole.
    pub(super) fn entry(&self, number: u32) -> &Entry {
        &self.held[number as usize].entry
    }

    /// The request that others are compared with. Holds no secret.
    pub(super) fn request(&self, number: u32) -> Cow<'_, Request> {
        let request = &self.entry(number).exchange.request;
        if self.held[number as usize].redacted {
            Cow::Owned((self.rules.redact)(request))
        } else {
            Cow::Borrowed(request)
        }
    }

    /// The answer that a recorded exchange gives; `None` if it gives none.
    pub(super) fn answer(&self, number: u32) -> Option<Answer> {
        self.held[number as usize].answer.clone()
    }

    /// Why an exchange is never served; `None` if it can be.
    pub(super) fn unfit(&self, number: u32) -> Option<&str> {
        self.held[number as usize].unfit.as_deref()
    }

    /// The entries of the line with this key.
    pub(super) fn line(&self, key: Key) -> Option<&RouteEntries> {
        self.by_line.get(&key).map(|line| &self.lines[*line as usize])
    }

    /// The sets of header fields in a bucket that a request has best; none if it has all of them alike.
    pub(super) fn best_fields(&self, bucket: &Bucket, headers: &Headers) -> Vec<u32> {
        let sets = &bucket.field_sets;
        if sets.len() == 1 {
            return Vec::new();
        }
        let live = fields::live(&self.rules.keys, headers);
        let agreement = |set: &u32| fields::agreement(&live, &self.field_sets[*set as usize]);
        let best = sets.iter().map(agreement).max();
        let mut chosen = sets.clone();
        chosen.retain(|set| Some(agreement(set)) == best);
        if chosen.len() == sets.len() { Vec::new() } else { chosen }
    }

    /// The values of a request at the places of a bucket's mask, as they came.
    pub(super) fn live_values(&self, bucket: u32, raw: &Parts) -> Vec<LiveValue> {
        let bucket = &self.buckets[bucket as usize];
        let mask = &bucket.mask;
        let has_labels = |set: &u32| self.labels.get(*set).has_elsewhere();
        if mask.is_exact() || !bucket.label_sets.iter().any(has_labels) {
            return Vec::new();
        }
        self.label_reader().live_values(raw, mask, &self.rules.ignored(&raw.site, raw.method.as_str(), &raw.path))
    }

    /// What reads labels of live requests.
    pub(super) fn label_reader(&self) -> LabelReader<'_> {
        LabelReader { keys: &self.rules.keys, has_label: &*self.rules.has_label, table: &self.labels }
    }

    /// Whether a recorded exchange has a credential in its header, and a request has none there.
    pub(super) fn lacks_credential_of(&self, entry: u32, request: &Request) -> bool {
        let labels = self.labels.get(self.variant(entry).labels);
        if request.credential != Credential::Missing || !labels.has_header() {
            return false;
        }
        let mut live = Vec::new();
        self.label_reader().add_header(&request.headers, false, &mut live);
        labels.are_lacking(&live)
    }

    /// Method and target of a recorded request, without the origin. Holds no secret.
    pub(super) fn asked(&self, entry: u32) -> &str {
        &self.held[entry as usize].asked
    }

    /// Method and raw path of a recorded request.
    pub(super) fn asked_line(&self, entry: u32) -> (&str, &str) {
        let (method, mut target) = self.asked(entry).split_once(' ').unwrap_or_default();
        if let Some((_, after)) = target.split_once(' ').filter(|(name, _)| is_upstream_name(name)) {
            target = after;
        }
        // The name of a GraphQL operation follows a blank.
        (method, target.split(['?', ' ']).next().unwrap_or_default())
    }

    /// The bucket that answers `parts`: the most specific one whose mask it fits. `None` where two sites have one.
    /// `raw` is the request before redaction, whose labels count.
    /// With it, the number of the recorded requests that are the same with what is ignored, too; 0 if none is.
    pub(super) fn find(&self, parts: &Parts, raw: &Parts) -> Option<(u32, u32)> {
        let mut found = self.sites_of(&parts.site).filter_map(|site| self.find_at(site, parts, raw));
        found.next().filter(|_| found.next().is_none())
    }

    fn find_at(&self, site: &str, parts: &Parts, raw: &Parts) -> Option<(u32, u32)> {
        self.lines_at(site, parts).find_map(|line_key| {
            let line = self.line(line_key)?;
            let ignored = &line.ignored;
            line.masks.iter().find_map(|mask| {
                let key = self.rules.keys.request(line_key, parts, mask, ignored);
                let bucket = *self.by_key.get(&key)?;
                let live = self.live_values(bucket, raw);
                let mut sets = self.buckets[bucket as usize].label_sets.iter();
                if !sets.any(|set| self.labels.get(*set).fit(&live)) {
                    return None;
                }
                let is_reduced = *ignored != IgnoreSet::default();
                let exact = is_reduced.then(|| self.rules.keys.exact(line_key, parts, mask, ignored));
                Some((bucket, exact.and_then(|key| self.exact_keys.get(&key).copied()).unwrap_or(0)))
            })
        })
    }

    /// The recorded sites that a request to this one is to: itself; for the tenant, where nothing of it is recorded
    /// under its name, every one.
    fn sites_of<'a>(&'a self, site: &'a str) -> impl Iterator<Item = &'a str> {
        let any = site.is_empty() && !self.sites.contains("") && !self.rules.names.are_several();
        let all = any.then(|| self.sites.iter().map(String::as_str)).into_iter().flatten();
        all.chain((!any).then_some(site))
    }

    /// What a request's site is known as: recorded, named, or neither.
    pub(super) fn known_site(&self, site: &str) -> KnownSite {
        if site.is_empty() || self.upstreams.contains(site) && !self.sites.contains(site) {
            KnownSite::Tenant
        } else if self.sites.contains(site) {
            KnownSite::Recorded
        } else if self.rules.names.are_the_tenants(site) {
            if self.has_a_tenant() { KnownSite::Tenant } else { KnownSite::Unknown }
        } else if self.is_named(site) || self.rules.names.upstream_of(site).is_some() {
            KnownSite::Recorded
        } else {
            KnownSite::Unknown
        }
    }

    /// Whether an option names this host.
    pub(super) fn is_named(&self, site: &str) -> bool {
        let names = &self.rules.names;
        names.intercepted.iter().chain(&names.upstream).any(|name| name == site)
    }

    /// Whether it is known which recordings are the tenant's: they name it, or there are no others. Of several hosts that
    /// were recorded under their own names only, a host of another name is none.
    fn has_a_tenant(&self) -> bool {
        self.sites.contains("") || self.sites.len() < 2
    }

    /// Whether this site is the tenant, whose token endpoint it has.
    pub(super) fn is_tenant(&self, site: &str) -> bool {
        let is_only = self.sites.len() == 1 && self.sites.contains(site);
        is_only || self.upstreams.contains(site) || self.known_site(site) == KnownSite::Tenant
    }

    /// Whether a host that neither an option nor a recording names may be the tenant: no option names another one as
    /// the tenant's, whose answers this host would get.
    pub(super) fn may_be_the_tenant(&self) -> bool {
        let names = &self.rules.names;
        let is_unrecorded = |name: &String| !self.sites.contains(name);
        let is_named = names.upstream.is_some() || !names.apart && names.intercepted.iter().any(is_unrecorded);
        self.has_a_tenant() && !is_named && !names.are_several()
    }

    /// Whether a host that no option and no recording names may be the tenant's.
    pub(super) fn lacks_the_tenants_name(&self) -> bool {
        self.sites.contains("") && self.rules.names.upstream.is_none()
    }

    /// The keys under which the line of `parts` may stand, the exact one first.
    pub(super) fn lines_of<'a>(&'a self, parts: &'a Parts) -> impl Iterator<Item = Key> + 'a {
        self.sites_of(&parts.site).flat_map(|site| self.lines_at(site, parts))
    }

    fn lines_at<'a>(&'a self, site: &'a str, parts: &'a Parts) -> impl Iterator<Item = Key> + 'a {
        let method = parts.method.as_str();
        let shapes = (!self.path_masks.is_empty())
            .then(|| self.path_masks.get(&(method.to_owned(), parts.path.split('/').count())))
            .flatten();
        let masks = std::iter::once(&[][..]).chain(shapes.into_iter().flatten().map(Vec::as_slice));
        let path = self.rules.path(site, method, &parts.path);
        masks.map(move |segments| self.rules.keys.line(site, method, &path, segments))
    }

    /// Whether there are several upstreams, and a recorded exchange is not of this site.
    pub(super) fn is_of_another_upstream(&self, entry: u32, site: &str) -> bool {
        self.rules.names.are_several() && Parts::site_of(&self.entry(entry).exchange.request.target) != site
    }

    /// How the sites of a request and of a recorded one differ.
    pub(super) fn host_difference(&self, yours: &Parts, fixture: &Parts) -> Option<Difference> {
        let any = yours.site.is_empty() && !self.sites.contains("");
        if yours.site == fixture.site || any && self.sites.len() == 1 {
            return None;
        }
        let option = match (&*yours.site, &*fixture.site) {
            ("", host) if !self.rules.names.are_several() => Some(format!("--upstream {}://{host}", scheme_of(host))),
            // Under another port it may be the host that was recorded under its own name.
            (host, site) if self.rules.names.upstream_of(host).is_none() && self.rules.names.are_several() => {
                let name = self.rules.names.upstream_of(site);
                name.map(|name| format!("--upstream {name}={}://{host}", scheme_of(host)))
            }
            (host, "") if !self.sites.iter().any(|site| name_of(site) == name_of(host)) => {
                Some(format!("--intercept {host}"))
            }
            _ => None,
        };
        let name = |site: &str| Some(if site.is_empty() { "the tenant" } else { site }.to_owned());
        Some(Difference { place: "host".to_owned(), yours: name(&yours.site), fixture: name(&fixture.site), option })
    }

    /// The documented operation of a recorded request, if there is one.
    pub(super) fn operation(&self, entry: u32) -> Option<Arc<str>> {
        let (method, path) = self.asked_line(entry);
        self.rules.operation(&Parts::site_of(&self.entry(entry).exchange.request.target), method, path)
    }

    /// The lines of a documented operation, then those of others, each in recorded order; with each, whether it is of
    /// another.
    pub(super) fn lines_near(&self, operation: Option<&Arc<str>>) -> impl Iterator<Item = (bool, &RouteEntries)> {
        let lines = self.by_operation.get_or_init(|| {
            let mut lines: AHashMap<Option<Arc<str>>, Vec<usize>> = AHashMap::new();
            for (place, line) in self.lines.iter().enumerate() {
                lines.entry(self.operation(line.entries[0])).or_default().push(place);
            }
            lines
        });
        let own = lines.get(&operation.cloned()).map(Vec::as_slice).unwrap_or_default();
        let others = (0..self.lines.len()).filter(|place| own.binary_search(place).is_err());
        let places = own.iter().map(|place| (false, *place)).chain(others.map(|place| (true, place)));
        places.map(|(other, place)| (other, &self.lines[place]))
    }

    pub(super) fn mask(&self, bucket: u32) -> &Mask {
        &self.buckets[bucket as usize].mask
    }

    /// The mask of a recorded request, computed again.
    pub(super) fn mask_of(&self, request: &Request, parts: &Parts) -> Mask {
        Mask::of(request, parts, &*self.rules.has_label)
    }

    /// `checkout.har entry 3`.
    pub(super) fn name(&self, entry: u32) -> String {
        let held = &self.held[entry as usize];
        format!("{} entry {}", self.sources[held.source as usize].name, held.entry.index)
    }
}

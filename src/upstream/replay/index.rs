//! The recorded exchanges by what was asked: a hash look-up, not a scan.
//!
//! A request goes to its *line* (method and raw path), from there, under each mask that any entry of that line needs,
//! to a *bucket*: the recorded exchanges of one identity, in recorded order.

use std::{collections::HashMap, sync::Arc};

use super::{
    caller::{Caller, CallerId, Callers},
    ignore::{Ignore, IgnoreSet},
    mask::{Key, Keys, Mask},
    parts::Parts,
    serve,
};
use crate::{exchange::Request, recording::Entry};

/// The documented operation of a method and raw path, if there is one.
pub type OperationOf = Arc<dyn Fn(&str, &str) -> Option<Arc<str>> + Send + Sync>;

/// One recorded exchange.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) entry: Entry,
    /// Its request after redaction, where that is another one.
    redacted: Option<Box<Request>>,
    /// Which fixture, as an index into the names.
    pub(super) source: u32,
    pub(super) caller: CallerId,
    /// Why it is never served; `None` if it can be.
    pub(super) unfit: Option<String>,
}

impl Held {
    /// The request that others are compared with. Holds no secret.
    pub(super) fn request(&self) -> &Request {
        self.redacted.as_deref().unwrap_or(&self.entry.exchange.request)
    }
}

/// Entries of one identity.
#[derive(Debug, Default)]
pub(super) struct Bucket {
    /// In recorded order.
    pub(super) entries: Vec<u32>,
    pub(super) mask: u32,
}

/// Entries of one method and path.
#[derive(Debug)]
pub(super) struct Line {
    /// The masks in use, most specific first.
    masks: Vec<u32>,
    /// In recorded order.
    pub(super) entries: Vec<u32>,
    ignored: u16,
}

/// Recorded exchanges, ready to be found.
pub(super) struct Index {
    pub(super) sources: Vec<Arc<str>>,
    pub(super) held: Vec<Held>,
    pub(super) callers: Callers,
    pub(super) buckets: Vec<Bucket>,
    pub(super) lines: HashMap<Key, Line>,
    /// The lines in recorded order, for looking for near ones.
    pub(super) line_order: Vec<Key>,
    masks: Vec<Mask>,
    mask_ids: HashMap<Mask, u32>,
    by_key: HashMap<Key, u32>,
    /// Path masks that are not empty, by method and number of segments.
    path_masks: HashMap<(String, usize), Vec<Vec<usize>>>,
    ignore_sets: Vec<IgnoreSet>,
    ignore: Vec<Ignore>,
    operation_of: OperationOf,
    has_label: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    keys: Keys,
}

impl Index {
    pub(super) fn new(
        ignore: Vec<Ignore>,
        operation_of: OperationOf,
        has_label: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    ) -> Self {
        Self {
            sources: Vec::new(),
            held: Vec::new(),
            callers: Callers::default(),
            buckets: Vec::new(),
            lines: HashMap::new(),
            line_order: Vec::new(),
            masks: vec![Mask::default()],
            mask_ids: HashMap::from([(Mask::default(), 0)]),
            by_key: HashMap::new(),
            path_masks: HashMap::new(),
            ignore_sets: Vec::new(),
            ignore,
            operation_of,
            has_label,
            keys: Keys::default(),
        }
    }

    /// Starts a fixture; entries that follow are its own.
    pub(super) fn source(&mut self, name: &str) {
        self.sources.push(name.into());
    }

    /// Takes in an entry of the fixture started last.
    pub(super) fn push(&mut self, entry: Entry, redacted: Option<Request>) {
        let number = u32::try_from(self.held.len()).unwrap_or(u32::MAX);
        let request = redacted.as_ref().unwrap_or(&entry.exchange.request);
        let parts = Parts::of(request);
        let mask = Mask::of(request, &parts, &*self.has_label);
        let mask_id = self.mask_id(&mask);
        let method = request.method.as_str();
        let line_key = self.keys.line(method, &parts.path, &mask.segments);
        if !mask.segments.is_empty() {
            let shape = (method.to_owned(), parts.path.split('/').count());
            let shapes = self.path_masks.entry(shape).or_default();
            if !shapes.contains(&mask.segments) {
                shapes.push(mask.segments.clone());
            }
        }
        if !self.lines.contains_key(&line_key) {
            let ignored = self.ignore_set(method, &parts.path);
            self.lines.insert(line_key, Line { masks: Vec::new(), entries: Vec::new(), ignored });
            self.line_order.push(line_key);
        }
        if let Some(line) = self.lines.get_mut(&line_key) {
            line.entries.push(number);
            if !line.masks.contains(&mask_id) {
                line.masks.push(mask_id);
                let masks = &self.masks;
                line.masks.sort_by(|left, right| masks[*left as usize].cmp(&masks[*right as usize]));
            }
            let ignored = &self.ignore_sets[usize::from(line.ignored)];
            let key = self.keys.request(line_key, &parts, &mask, mask_id, ignored);
            let bucket = *self.by_key.entry(key).or_insert_with(|| {
                self.buckets.push(Bucket { entries: Vec::new(), mask: mask_id });
                u32::try_from(self.buckets.len() - 1).unwrap_or(u32::MAX)
            });
            self.buckets[bucket as usize].entries.push(number);
        }
        let caller = self.callers.intern(Caller::of(&request.credential));
        let unfit = serve::unfit(&entry.exchange);
        let source = u32::try_from(self.sources.len().saturating_sub(1)).unwrap_or(u32::MAX);
        self.held.push(Held { entry, redacted: redacted.map(Box::new), source, caller, unfit });
    }

    /// The bucket that answers `parts`: the most specific one whose mask it fits.
    pub(super) fn find(&self, parts: &Parts) -> Option<u32> {
        self.lines_of(parts).into_iter().find_map(|line_key| {
            let line = self.lines.get(&line_key)?;
            let ignored = &self.ignore_sets[usize::from(line.ignored)];
            line.masks.iter().find_map(|id| {
                let mask = &self.masks[*id as usize];
                let key = self.keys.request(line_key, parts, mask, *id, ignored);
                self.by_key.get(&key).copied()
            })
        })
    }

    /// The keys under which the line of `parts` may stand, the exact one first.
    pub(super) fn lines_of(&self, parts: &Parts) -> Vec<Key> {
        let method = parts.method.as_str();
        let mut lines = vec![self.keys.line(method, &parts.path, &[])];
        if !self.path_masks.is_empty()
            && let Some(shapes) = self.path_masks.get(&(method.to_owned(), parts.path.split('/').count()))
        {
            lines.extend(shapes.iter().map(|segments| self.keys.line(method, &parts.path, segments)));
        }
        lines
    }

    pub(super) fn mask(&self, bucket: u32) -> &Mask {
        &self.masks[self.buckets[bucket as usize].mask as usize]
    }

    /// The mask of one entry, computed again.
    pub(super) fn mask_of(&self, entry: u32, parts: &Parts) -> Mask {
        Mask::of(self.held[entry as usize].request(), parts, &*self.has_label)
    }

    /// What is left out when requests of this method and path are compared.
    pub(super) fn ignored(&self, method: &str, path: &str) -> IgnoreSet {
        IgnoreSet::of(&self.ignore, (self.operation_of)(method, path).as_deref())
    }

    /// `checkout.har entry 3`.
    pub(super) fn name(&self, entry: u32) -> String {
        let held = &self.held[entry as usize];
        format!("{} entry {}", self.sources[held.source as usize], held.entry.index)
    }

    fn mask_id(&mut self, mask: &Mask) -> u32 {
        if let Some(id) = self.mask_ids.get(mask) {
            return *id;
        }
        let id = u32::try_from(self.masks.len()).unwrap_or(u32::MAX);
        self.masks.push(mask.clone());
        self.mask_ids.insert(mask.clone(), id);
        id
    }

    fn ignore_set(&mut self, method: &str, path: &str) -> u16 {
        let set = if self.ignore.is_empty() { IgnoreSet::default() } else { self.ignored(method, path) };
        let at = self.ignore_sets.iter().position(|held| *held == set).unwrap_or_else(|| {
            self.ignore_sets.push(set);
            self.ignore_sets.len() - 1
        });
        u16::try_from(at).unwrap_or(u16::MAX)
    }
}

//! The state that requests change: credential templates (4.5) and failed events (4.4).

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use super::seed::Seed;

/// What requests change.
#[derive(Debug)]
pub(super) struct TenantState {
    clock: Timestamp,
    templates: HashMap<String, Template>,
    /// By stream, then by event: how many redeliveries until it arrives (`None`: it never does).
    events: HashMap<String, HashMap<String, Option<u32>>>,
}

#[derive(Debug)]
struct Template {
    body: Map<String, Value>,
    changes: i64,
}

impl TenantState {
    pub(super) fn new(seed: &Seed) -> Self {
        let template = |held: &super::seed::Resource| Template { body: held.body.clone(), changes: 0 };
        Self {
            clock: seed.clock,
            templates: seed
                .verifiable_credential_templates
                .iter()
                .map(|held| (held.id.clone(), template(held)))
                .collect(),
            events: seed
                .event_streams
                .iter()
                .map(|stream| {
                    let events = stream.failed_events.iter().map(|event| (event.id.clone(), event.redeliveries));
                    (stream.id.clone(), events.collect())
                })
                .collect(),
        }
    }

    /// Replaces fields of a template and gives all of it; `None` if there is none. The n-th change is n − 1 seconds
    /// after the seed's clock; nothing to change is no change.
    pub(super) fn update_template(&mut self, id: &str, fields: Map<String, Value>) -> Option<Map<String, Value>> {
        let template = self.templates.get_mut(id)?;
        if !fields.is_empty() {
            let at = self.clock.saturating_add(SignedDuration::from_secs(template.changes)).unwrap_or(self.clock);
            template.changes += 1;
            template.body.extend(fields);
            template.body.insert("updated_at".to_owned(), Value::String(at.to_string()));
        }
        Some(template.body.clone())
    }

    /// Whether there is such a template.
    pub(super) fn has_template(&self, id: &str) -> bool {
        self.templates.contains_key(id)
    }

    /// Sends a failed event again; `false` if the stream has no such failed event (any more).
    pub(super) fn redeliver(&mut self, stream: &str, event: &str) -> bool {
        let Some(events) = self.events.get_mut(stream) else { return false };
        match events.get_mut(event) {
            None => false,
            Some(None) => true,
            Some(Some(left)) => {
                *left = left.saturating_sub(1);
                if *left == 0 {
                    events.remove(event);
                }
                true
            }
        }
    }
}

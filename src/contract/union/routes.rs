//! Which operations of a later document the union holds, and which requests it judges otherwise.

use std::{collections::HashMap, sync::Arc};

use serde_json::Value;

use crate::contract::{
    ContractDocument,
    route::{base_path, open_bases, shape, takes, urls},
};

/// A template with parameters, and the name of its document.
#[derive(Debug)]
struct Held {
    template: String,
    document: Arc<str>,
}

/// The operations so far.
#[derive(Debug, Default)]
pub(super) struct Routes<'d> {
    earlier: &'d [ContractDocument],
    document: Arc<str>,
    /// The document names hosts that no earlier one does, whose requests it judges first.
    has_hosts: bool,
    /// By method and count of segments.
    templates: HashMap<(String, usize), Vec<Held>>,
    /// See [`Union`](super::Union).
    pub(super) differences: Vec<String>,
}

impl<'d> Routes<'d> {
    /// Starts a document.
    pub(super) fn next(&mut self, earlier: &'d [ContractDocument], document: &ContractDocument) {
        (self.earlier, self.document) = (earlier, document.name().into());
        let is_new = |host| !earlier.iter().any(|earlier| earlier.hosts().contains(host));
        self.has_hosts = document.hosts().iter().any(is_new);
    }

    /// Takes an operation with its servers; `false` where the union does not hold it. What earlier documents judge under
    /// one of its servers loses that server. `is_taken`: the union has another operation of this method and path.
    pub(super) fn add(&mut self, method: &str, path: &str, operation: &mut Value, is_taken: bool) -> bool {
        let bases =
            |server: &Value| urls(server).unwrap_or_default().iter().map(|url| base_path(url)).collect::<Vec<_>>();
        let judged = |base: &String| {
            // Only a template with the same parameters takes it.
            let path = format!("{base}{}", shape(path));
            self.earlier.iter().any(|document| document.find(method, &path).is_some())
        };
        let name = |base: &str, document: &str| format!("`{method} {base}{path}` of `{document}`");
        let mut all = vec![String::new()];
        if self.has_hosts {
            let servers = operation.get("servers").and_then(Value::as_array).into_iter().flatten();
            let elsewhere = |base: &String| {
                let path = format!("{base}{}", shape(path));
                let mut named = self.earlier.iter().filter(|document| !document.hosts().is_empty());
                named.any(|document| document.find(method, &path).is_some())
            };
            if let Some(base) = servers.flat_map(bases).find(elsewhere) {
                let lost = name(&base, &self.document);
                self.differences.push(format!("{lost} is left out: an earlier document has it, for other hosts"));
            }
        }
        if let Some(servers) = operation.get_mut("servers").and_then(Value::as_array_mut) {
            servers.retain(|server| !bases(server).iter().all(judged) || bases(server).is_empty());
            all = servers.iter().flat_map(bases).filter(|base| !judged(base)).collect();
            if !all.is_empty() {
                all.extend(servers.iter().flat_map(open_bases));
            }
        } else if judged(&all[0]) {
            return false;
        }
        if all.is_empty() {
            return false;
        }
        if is_taken {
            let lost = name(&all[0], &self.document);
            self.differences.push(format!("{lost} is left out: an earlier document has this method of `{path}`"));
            return false;
        }
        for base in all {
            let template = format!("{base}{path}");
            let alike = self.templates.entry((method.to_owned(), template.split('/').count())).or_default();
            for Held { template: other, document } in alike.iter() {
                if *document != self.document && wins(&template, other) {
                    let late = name(&base, &self.document);
                    let early = format!("`{method} {other}` of `{document}`");
                    self.differences.push(format!("{late} also judges requests that {early} judges"));
                }
            }
            if template.contains('{') {
                alike.push(Held { template, document: Arc::clone(&self.document) });
            }
        }
        true
    }
}

/// Whether a later template takes requests from an earlier one: literal segments come before templated ones.
fn wins(later: &str, earlier: &str) -> bool {
    let mut wins = None;
    for (later, earlier) in later.split('/').zip(earlier.split('/')) {
        match (later.contains('{'), earlier.contains('{')) {
            (false, false) if later != earlier => return false,
            (false, true) => {
                if !takes(earlier, later) {
                    return false;
                }
                wins = wins.or(Some(true));
            }
            (true, false) => wins = wins.or(Some(false)),
            // What has more literal text comes first, then what is earlier.
            (true, true) if later != earlier => {
                let literal = |text: &str| shape(text).replace("{}", "").len();
                wins = wins.or(Some(takes(earlier, later) && literal(later) > literal(earlier)));
            }
            _ => {}
        }
    }
    wins == Some(true)
}

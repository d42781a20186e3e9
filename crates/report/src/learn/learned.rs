//! Turns counts into actions of an overlay.

use std::{
    collections::{BTreeSet, HashSet},
    fmt::Write as _,
};

use contrail_contract::{self as contract, ContractDocument, Operation, below};
use contrail_exchange::{
    finding::Unchecked,
    is_at_or_below,
    json::{pointer_tokens, unescape_pointer},
    plural::plural,
};
use serde_json::{Map, Value, json};

use super::{
    Learner,
    answers::{self, Fact},
    collector::{Answers, Beyond},
    evidence::Sightings,
    places,
    scopes::{Calls, Decision},
};

/// What was learned.
#[derive(Debug, Default)]
pub struct Learned {
    actions: Vec<Value>,
    /// What the exchanges do not decide, a sentence each, with the operation.
    pub undecided: Vec<(String, String)>,
    /// Actions that change the contract.
    pub facts: usize,
    exchanges: u64,
    title: String,
    version: String,
}

impl Learner {
    /// Decides what can be decided.
    #[must_use]
    pub fn learned(&self) -> Learned {
        let mut learned = Learned {
            exchanges: self.exchanges,
            title: self.contract.title(),
            version: self.contract.version(),
            ..Learned::default()
        };
        for (number, document) in self.contract.documents().iter().enumerate() {
            let operations = &document.model().operations;
            for operation in operations.iter().filter(|operation| !operation.token_endpoint) {
                let key = (number, operation.at.clone());
                if operation.not_shown.contains(Unchecked::RequiredScope) {
                    let never = Calls::default();
                    let calls = self.calls.get(&key).unwrap_or(&never);
                    learned.scope(document.document(), operation, calls, &self.explaining);
                }
                let own = self
                    .answers
                    .iter()
                    .filter(|((held, _), answers)| *held == number && answers.operation == operation.at);
                for ((_, at), answers) in own {
                    // What operations share is stated once all of them have shown it.
                    let is_own = is_at_or_below(at, &operation.at);
                    if !is_own && answers.users.len() < places::uses(document.document(), operations, at) {
                        continue;
                    }
                    learned.answers(document, operation, answers);
                }
            }
            let own: Vec<_> = self.schemas.iter().filter(|((held, _), _)| *held == number).collect();
            if own.is_empty() {
                continue;
            }
            let of_requests = places::of_requests(document.document(), operations);
            for ((_, schema), beyond) in own {
                learned.beyond(schema, beyond, &of_requests);
            }
        }
        learned
    }
}

impl Learned {
    /// Whether there is nothing to write: no fact, and no operation that lacks one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }

    /// The overlay.
    #[must_use]
    pub fn overlay(&self) -> Value {
        json!({
            "overlay": "1.0.0",
            "info": {
                "title": format!("What {} of recorded traffic show of {}", plural(self.exchanges, "exchange"), self.title),
                "version": self.version,
            },
            "actions": self.actions,
        })
    }

    /// The overlay as YAML.
    #[must_use]
    pub fn yaml(&self) -> String {
        contract::yaml_text(&self.overlay())
    }

    /// Adds an action; `target` is a `JSONPath`.
    fn fact(&mut self, target: String, description: String, update: Value, evidence: Map<String, Value>) {
        self.facts += 1;
        let members = [
            ("target", target.into()),
            ("description", description.into()),
            ("update", update),
            ("x-contrail-evidence", evidence.into()),
        ];
        self.actions.push(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
    }

    fn scope(&mut self, document: &Value, operation: &Operation, calls: &Calls, explaining: &BTreeSet<String>) {
        let (decision, evidence) = calls.decide(explaining);
        let method = operation.method.as_str();
        match decision {
            Decision::Requires(scope) => {
                let description = format!("{} requires the scope {scope}", operation.id);
                let own = below(&operation.at, &["security"]);
                if document.pointer(&own).is_some() {
                    // An update of a list appends: each list of scopes gets the scope.
                    self.fact(format!("{}[*].*", json_path(&own)), description, json!([scope]), evidence);
                    return;
                }
                let mut security = document.get("security").cloned().unwrap_or_default();
                for scopes in security.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
                    scopes.values_mut().for_each(|scopes| *scopes = json!([scope]));
                }
                self.fact(json_path(&operation.at), description, json!({"security": security}), evidence);
            }
            Decision::Open(undecided) => {
                self.undecided.push((operation.id.to_string(), undecided.sentence(method, &operation.path)));
                let count = |name: &str| evidence.get(name).and_then(Value::as_u64).unwrap_or_default();
                let aside = count("set-aside");
                if aside > 0 && count("refused") == 0 {
                    let sentence = "set aside, as all were: each may have another reason than a missing scope";
                    self.undecided.push((operation.id.to_string(), format!("{} {sentence}", plural(aside, "refusal"))));
                }
                let undecided = undecided.json(method, &operation.path);
                self.actions.push(json!({
                    "target": json_path(&operation.at),
                    "description": format!("The scope that {} requires is not decided; this changes nothing", operation.id),
                    "update": {}, "x-contrail-undecided": undecided, "x-contrail-evidence": evidence,
                }));
            }
        }
    }

    fn answers(&mut self, document: &ContractDocument, operation: &Operation, answers: &Answers) {
        let Some(Fact { at, description, update }) = answers::fact(document, operation, answers) else { return };
        self.fact(json_path(&at), description, update, evidence(&answers.seen, "exchanges"));
    }

    fn beyond(&mut self, schema: &str, beyond: &Beyond, of_requests: &HashSet<String>) {
        for (value, seen) in &beyond.values {
            let target = below(schema, &["x-contrail-known-values"]);
            let description = format!("{} has the further value {value}", name_of(schema));
            self.fact(json_path(&target), description, json!([value]), evidence(seen, "values"));
        }
        let is_shared = of_requests.iter().any(|shared| is_at_or_below(schema, shared));
        for (name, (seen, shape)) in &beyond.fields {
            let description = format!("{} has the further field {name}", name_of(schema));
            // What answers show of its values is no rule for requests.
            let described = if is_shared { json!({}) } else { shape.schema() };
            let update = json!({"properties": {name: described}});
            self.fact(json_path(schema), description, update, evidence(seen, "fields"));
        }
    }
}

fn evidence(seen: &Sightings, counted: &str) -> Map<String, Value> {
    let mut evidence = Map::new();
    evidence.insert(counted.to_owned(), seen.count.into());
    seen.instants(&mut evidence);
    evidence.insert("decided-by".to_owned(), json!([seen.first.json()]));
    evidence
}

/// The name that people know a schema by.
fn name_of(pointer: &str) -> String {
    let name = pointer.strip_prefix("/components/schemas/").unwrap_or(pointer);
    name.split('/').filter(|token| *token != "properties").map(unescape_pointer).collect::<Vec<_>>().join(".")
}

/// A JSON pointer as a `JSONPath` (RFC 9535, section 2.7).
fn json_path(pointer: &str) -> String {
    let mut path = "$".to_owned();
    for token in pointer_tokens(pointer) {
        let is_name = token.starts_with(|first: char| first.is_ascii_alphabetic())
            && token.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if is_name {
            let _ = write!(path, ".{token}");
        } else {
            let _ = write!(path, "['{}']", token.replace('\\', "\\\\").replace('\'', "\\'"));
        }
    }
    path
}

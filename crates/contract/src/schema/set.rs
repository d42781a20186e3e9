//! The schemas of one document, compiled together.
//!
//! A document has thousands of places with a schema, and most refer to the same components. One build of the judge
//! covers all places and all branches of choices, so memory and time grow with the document and not with the paths
//! through it. The build waits for the first value: a proxy listens before it.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use serde_json::{Map, Value};

use super::{
    adapt::{self, Side},
    deep_stack::with_deep_stack,
    graph::{Graph, Types},
    inspect::Inspection,
    judge::Judge,
    judged::Changes,
    resources::{Copies, Resolved},
};
use crate::{UnusablePlace, refs};

/// The schemas of one document.
pub struct Schemas {
    resolved: Resolved,
    places: Mutex<Places>,
    prepared: OnceLock<BuildInput>,
    compiled: OnceLock<Compiled>,
}

/// JSON pointers of the schemas in use and the sides that they describe, each with its index.
#[derive(Debug, Default)]
struct Places {
    places: Vec<(String, Side)>,
    known: HashMap<(String, Side), usize>,
}

/// What precedes the build.
struct BuildInput {
    /// `None` where the document is the resolved one.
    document: Option<Value>,
    places: Vec<(String, Side)>,
    inspection: Inspection,
}

/// The builds of a document: one, or one for each side where `readOnly` or `writeOnly` makes a difference.
struct Compiled {
    builds: Vec<Build>,
    /// By place: the build, and the place's index in it.
    places: Vec<(usize, usize)>,
}

/// What a build gives.
pub(super) struct Build {
    pub(super) judge: Judge,
    pub(super) graph: Graph,
    /// By place: the schema in the graph.
    pub(super) roots: Vec<Root>,
    /// A pattern may be too costly to match to its end.
    pub(super) backtracks: bool,
}

/// A place's node in the graph.
pub(super) struct Root {
    pub(super) node: usize,
    types: OnceLock<Types>,
}

impl fmt::Debug for Schemas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schemas").finish_non_exhaustive()
    }
}

impl Schemas {
    /// For the schemas of `document`. References lead into it alone.
    #[must_use]
    pub fn new(document: &Arc<Value>) -> Arc<Self> {
        Arc::new(Self {
            resolved: Resolved::of(document),
            places: Mutex::default(),
            prepared: OnceLock::new(),
            compiled: OnceLock::new(),
        })
    }

    /// The document with each reference as a JSON pointer.
    #[must_use]
    pub fn document(&self) -> &Arc<Value> {
        &self.resolved.document
    }

    /// The index of the place at a JSON pointer.
    pub(super) fn place_of(&self, pointer: &str, side: Side) -> usize {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let next = places.places.len();
        let key = (pointer.to_owned(), side);
        let place = *places.known.entry(key.clone()).or_insert(next);
        if place == next {
            places.places.push(key);
        }
        place
    }

    /// The JSON pointer of a place.
    pub(super) fn pointer(&self, place: usize) -> String {
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.places.get(place).map(|(pointer, _)| pointer.clone()).unwrap_or_default()
    }

    /// The places that contrail cannot judge by.
    #[must_use]
    pub fn unusable(&self) -> &[UnusablePlace] {
        &self.prepared().inspection.unusable
    }

    /// Covers the schemas in use and the components that nothing refers to.
    fn prepared(&self) -> &BuildInput {
        self.prepared.get_or_init(|| {
            let places = self.places.lock().unwrap_or_else(PoisonError::into_inner).places.clone();
            let components = refs::at(self.document(), "/components/schemas").and_then(Value::as_object);
            let components: Vec<String> = components
                .into_iter()
                .flat_map(Map::keys)
                .map(|name| refs::below("/components/schemas", &[name]))
                .collect();
            let pointers = || places.iter().map(|(pointer, _)| pointer).chain(&components);
            let copies = Copies::of(&self.resolved, pointers());
            let document = copies.document.as_ref().unwrap_or(self.document());
            let all: Vec<String> = pointers().map(|place| copies.of_place(place)).collect();
            let mut inspection = Inspection::of(document, all.iter().map(String::as_str));
            let places = places.into_iter().map(|(place, side)| (copies.of_place(&place), side)).collect();
            inspection.relocate(|pointer| copies.original(pointer));
            BuildInput { document: copies.document, places, inspection }
        })
    }

    /// Makes the build.
    pub fn prepare(&self) {
        let _ = self.compiled();
    }

    /// Whether the build is made.
    #[must_use]
    pub fn is_prepared(&self) -> bool {
        self.compiled.get().is_some()
    }

    /// The build that has a place, and the place's index in it.
    pub(super) fn build_of(&self, place: usize) -> (&Build, usize) {
        let compiled = self.compiled();
        let (build, place) = compiled.places[place];
        (&compiled.builds[build], place)
    }

    /// The builds, made at the first call.
    fn compiled(&self) -> &Compiled {
        self.compiled.get_or_init(|| {
            let BuildInput { document, places, inspection } = self.prepared();
            let document = document.as_ref().unwrap_or(self.document());
            let build = || Compiled::of(document, inspection, places);
            with_deep_stack("contrail-schemas", build).unwrap_or_else(|_| Compiled::none(places.len()))
        })
    }
}

impl Compiled {
    fn of(document: &Value, inspection: &Inspection, places: &[(String, Side)]) -> Self {
        let built = built_as(document, inspection, places);
        let left_out = places.iter().zip(&built).filter(|((place, _), built)| place != *built);
        let mut usable = inspection.usable(document, &left_out.map(|((place, _), _)| place.as_str()).collect());
        adapt::bound_integers(&mut usable, &inspection.schemas);
        adapt::assert_base64(&mut usable, &inspection.schemas);
        let changes = inspection.changes_for_judge(&usable);
        let relaxed = Side::BOTH.map(|side| {
            let relaxed = adapt::relaxed(&usable, &inspection.schemas, side);
            (side, relaxed, adapt::of_other_side(&usable, &inspection.schemas, side))
        });
        let mut indices = vec![(0, 0); places.len()];
        let mut build = |index: usize, document: Value, side: Option<Side>| {
            let (mut pointers, mut known) = (Vec::new(), HashMap::new());
            for (place, (_, held)) in places.iter().enumerate() {
                if side.is_none_or(|side| side == *held) {
                    let next = pointers.len();
                    let at = *known.entry(built[place]).or_insert(next);
                    if at == next {
                        pointers.push(built[place].to_owned());
                    }
                    indices[place] = (index, at);
                }
            }
            let changes = changes.decided(&document, &inspection.schemas);
            Build::of(document, inspection, &changes, &pointers)
        };
        if relaxed.iter().all(|(_, relaxed, others)| relaxed.is_empty() && others.is_empty()) {
            let build = build(0, usable, None);
            return Self { builds: vec![build], places: indices };
        }
        let builds = relaxed.into_iter().enumerate().map(|(index, (side, relaxed, others))| {
            let mut document = usable.clone();
            adapt::relax(&mut document, &relaxed, &others, side);
            build(index, document, Some(side))
        });
        Self { builds: builds.collect(), places: indices }
    }

    /// A build that gives no verdict.
    fn none(places: usize) -> Self {
        let build =
            Build::of(Value::Null, &Inspection::default(), &Changes::default(), &vec![String::from("/"); places]);
        Self { builds: vec![build], places: (0..places).map(|place| (0, place)).collect() }
    }
}

/// By place: the JSON pointer of the first one with the same schema, which is built for both. What a reference leads
/// into stands for itself, and so does a discriminator: what it selects from depends on its place.
fn built_as<'p>(document: &Value, inspection: &Inspection, places: &'p [(String, Side)]) -> Vec<&'p str> {
    let mut first: HashMap<&Value, &str> = HashMap::new();
    let built = |(place, _): &'p (String, Side)| {
        let schema =
            refs::at(document, place).filter(|schema| !inspection.is_target(place) && !has_discriminator(schema));
        schema.map_or(place.as_str(), |schema| *first.entry(schema).or_insert(place))
    };
    places.iter().map(built).collect()
}

fn has_discriminator(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.contains_key("discriminator") || members.values().any(has_discriminator),
        Value::Array(items) => items.iter().any(has_discriminator),
        _ => false,
    }
}

impl Build {
    fn of(mut document: Value, inspection: &Inspection, changes: &Changes, places: &[String]) -> Self {
        let (graph, nodes) = Graph::compile(&document, places, &inspection.broken, changes);
        changes.apply(&mut document);
        let relocated = |pointers: &[String]| pointers.iter().map(|at| changes.relocate(at)).collect::<Vec<_>>();
        let (places, branches) = (relocated(places), relocated(&graph.branches));
        let judge = Judge::compile(&document, &places, &branches, &inspection.meta_schemas, &inspection.written);
        let roots = nodes.into_iter().map(|node| Root { node, types: OnceLock::new() }).collect();
        Self { judge, graph, roots, backtracks: inspection.backtracks }
    }

    pub(super) fn types(&self, place: usize) -> Types {
        let root = &self.roots[place];
        *root.types.get_or_init(|| self.graph.applicable(root.node).types())
    }
}

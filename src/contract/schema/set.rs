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
    Schema, UnusablePlace,
    fast_path::FastPath,
    gaps::{self, Coverage},
    inspect::Inspection,
    judge::Judge,
};
use crate::json::push_pointer;

/// Stack for the build, in bytes: its recursion is as deep as the longest chain of references.
const BUILD_STACK: usize = 256 << 20;

/// The schemas of one document.
pub struct Schemas {
    document: Arc<Value>,
    places: Mutex<Places>,
    inspection: OnceLock<Inspection>,
    compiled: OnceLock<Compiled>,
}

/// JSON pointers of the schemas in use, each with its index.
#[derive(Debug, Default)]
struct Places {
    pointers: Vec<String>,
    known: HashMap<String, usize>,
}

/// What the build gives.
pub(super) struct Compiled {
    pub(super) judge: Judge,
    pub(super) coverage: Coverage,
    pub(super) fast_path: FastPath,
    /// By place: the schema's index in `coverage` and in `fast_path`.
    pub(super) roots: Vec<Root>,
}

/// One place in the three tables.
pub(super) struct Root {
    pub(super) entry: usize,
    pub(super) shape: usize,
    types: OnceLock<gaps::Types>,
}

impl fmt::Debug for Schemas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schemas").finish_non_exhaustive()
    }
}

impl Schemas {
    /// For the schemas of `document`. References lead into it alone.
    #[must_use]
    pub fn new(document: Arc<Value>) -> Arc<Self> {
        Arc::new(Self { document, places: Mutex::default(), inspection: OnceLock::new(), compiled: OnceLock::new() })
    }

    /// The schema at a JSON pointer into the document. All schemas are requested before the first one judges a value.
    #[must_use]
    pub fn at(self: &Arc<Self>, pointer: &str) -> Schema {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let next = places.pointers.len();
        let place = *places.known.entry(pointer.to_owned()).or_insert(next);
        if place == next {
            places.pointers.push(pointer.to_owned());
        }
        Schema::new(Arc::clone(self), place)
    }

    /// The places that contrail cannot judge by.
    #[must_use]
    pub fn unusable(&self) -> &[UnusablePlace] {
        &self.inspection().unusable
    }

    /// Covers the schemas in use and the components that nothing refers to.
    fn inspection(&self) -> &Inspection {
        self.inspection.get_or_init(|| {
            let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
            let components = self.document.pointer("/components/schemas").and_then(Value::as_object);
            let components: Vec<String> =
                components.into_iter().flat_map(Map::keys).map(|name| below("/components/schemas", name)).collect();
            Inspection::of(&self.document, places.pointers.iter().chain(&components).map(String::as_str))
        })
    }

    /// Makes the build.
    pub fn prepare(&self) {
        let _ = self.compiled();
    }

    /// The build, made at the first call.
    pub(super) fn compiled(&self) -> &Compiled {
        self.compiled.get_or_init(|| {
            let inspection = self.inspection();
            let places = std::mem::take(&mut *self.places.lock().unwrap_or_else(PoisonError::into_inner)).pointers;
            let build = || Compiled::build(&self.document, inspection, &places);
            std::thread::scope(|scope| {
                let builder = std::thread::Builder::new().name("contrail-schemas".to_owned()).stack_size(BUILD_STACK);
                match builder.spawn_scoped(scope, build) {
                    Ok(thread) => thread.join().unwrap_or_else(|_| Compiled::none(places.len())),
                    Err(_) => build(),
                }
            })
        })
    }
}

fn below(pointer: &str, name: &str) -> String {
    let mut pointer = pointer.to_owned();
    push_pointer(&mut pointer, name);
    pointer
}

impl Compiled {
    fn build(document: &Value, inspection: &Inspection, places: &[String]) -> Self {
        let usable = inspection.usable(document);
        let document = usable.as_ref().unwrap_or(document);
        let (coverage, entries) = Coverage::compile(document, places, &inspection.broken);
        let (fast_path, shapes) = FastPath::compile(document, places);
        let judge = Judge::compile(document, places, &coverage.branches);
        let roots = entries.into_iter().zip(shapes);
        let roots = roots.map(|(entry, shape)| Root { entry, shape, types: OnceLock::new() }).collect();
        Self { judge, coverage, fast_path, roots }
    }

    /// Judges nothing, and claims nothing.
    fn none(places: usize) -> Self {
        Self::build(&Value::Null, &Inspection::default(), &vec![String::from("/"); places])
    }

    pub(super) fn types(&self, place: usize) -> gaps::Types {
        let root = &self.roots[place];
        *root.types.get_or_init(|| self.coverage.types_of(&[root.entry]))
    }
}

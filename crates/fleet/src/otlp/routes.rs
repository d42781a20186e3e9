//! Which path template an operation has.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use contrail_contract::Contract;
use contrail_proxy::metrics::Metrics;

/// The path templates of operations, looked up once each.
#[derive(Debug, Default)]
pub(super) struct Routes(Mutex<RouteTable>);

#[derive(Debug, Default)]
struct RouteTable {
    /// By which contract those of spans are.
    contract: Option<Arc<Contract>>,
    of_spans: HashMap<Arc<str>, Option<String>>,
    /// Those of metrics; a series keeps what it began with.
    of_metrics: HashMap<String, String>,
}

impl Routes {
    /// Of a span, by the contract that judged it.
    pub(super) fn of_span(&self, contract: &Arc<Contract>, operation: &Arc<str>) -> Option<String> {
        let held = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !held.contract.as_ref().is_some_and(|of| Arc::ptr_eq(of, contract)) {
            held.contract = Some(Arc::clone(contract));
            held.of_spans.clear();
        }
        let known = held.of_spans.entry(Arc::clone(operation));
        known.or_insert_with(|| contract.path_template(operation)).clone()
    }

    /// Of a metric, by the contract in force.
    pub(super) fn of_metric(&self, metrics: &Metrics, operation: &str) -> Option<String> {
        let held = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = held.of_metrics.get(operation) {
            return Some(known.clone());
        }
        let template = metrics.path_template(operation)?;
        held.of_metrics.insert(operation.to_owned(), template.clone());
        Some(template)
    }
}

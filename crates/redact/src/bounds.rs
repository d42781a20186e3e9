//! Bounds that a label has to fit.

use contrail_exchange::label::Bounds;

/// Bounds that a label has to fit, taken from the contract by the pipeline (this module knows no contract).
pub trait Shapes: Send + Sync {
    /// Length bounds in characters for the value at `pointer` of a body of `operation`.
    fn bounds(&self, operation: &str, response: bool, pointer: &str) -> Bounds;
}

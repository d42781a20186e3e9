//! Bounds that a label has to fit.

/// Bounds that a label has to fit, taken from the contract by the pipeline (this module knows no contract).
pub trait Shapes: Send + Sync {
    /// Length bounds in characters for the value at `pointer` of a body of `operation`.
    fn bounds(&self, operation: &str, response: bool, pointer: &str) -> Bounds;
}

/// See [`Shapes::bounds`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Minimum characters.
    pub min: Option<usize>,
    /// Maximum characters.
    pub max: Option<usize>,
}

//! The check itself: `request`, `response`, `security`, each from `(&Contract, &Exchange)` to findings.

//! The contract: an OpenAPI 3.1 document, compiled once, and the check of an exchange against it.
//!
//! `document` (read, overlay) → `refs` → `compile` ([`Contract`]) → `route`, `schema`, `params` → `check`.
//! The check is pure: `(&Contract, &Exchange, &CheckOptions) -> Verdict`. It never sees a socket or a file.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use crate::{exchange::Exchange, finding::Verdict};

pub mod check;
mod document;
mod error;
pub mod model;
mod overlay;
mod params;
mod refs;
mod route;
pub mod schema;
mod upgrade;
mod yaml;

pub use error::ContractError;

/// A compiled contract.
#[derive(Debug)]
pub struct Contract {}

/// Which parts of an exchange are judged, and how.
#[derive(Debug, Clone)]
#[allow(clippy::struct_excessive_bools)]
pub struct CheckOptions {
    /// Judge the request (parameters, body, content type).
    pub request: bool,
    /// Judge the response, the relations between both messages, and the transport.
    pub response: bool,
    /// Judge authentication; otherwise `auth` is unchecked and no `auth.*` rule fires.
    pub auth: bool,
    /// Tolerance for `exp` and `nbf`.
    pub clock_skew: Duration,
    /// Origins besides the request's own that count as the tenant's in an audience (`https://tenant.example`, the
    /// upstream's).
    pub tenant_origins: Vec<String>,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self { request: true, response: true, auth: true, clock_skew: Duration::ZERO, tenant_origins: Vec::new() }
    }
}

impl Contract {
    /// The built-in tenant contract (`contracts/tenant-management.yaml`), compiled once per process.
    ///
    /// # Panics
    ///
    /// Never: a test compiles the embedded document.
    #[must_use]
    pub fn built_in() -> Arc<Self> {
        todo!()
    }

    /// Reads a document (`None`: the built-in one), applies the overlays in order, and compiles it.
    ///
    /// # Errors
    ///
    /// [`ContractError`] names the file and the place in it.
    pub fn load(_document: Option<&Path>, _overlays: &[PathBuf]) -> Result<Arc<Self>, ContractError> {
        todo!()
    }

    /// SHA-256 of the effective document, as 64 hex digits; attested findings carry it.
    #[must_use]
    pub fn hash(&self) -> &str {
        todo!()
    }

    /// `info.title`.
    #[must_use]
    pub fn title(&self) -> &str {
        todo!()
    }

    /// `info.version`.
    #[must_use]
    pub fn version(&self) -> &str {
        todo!()
    }

    /// Checks one exchange.
    #[must_use]
    pub fn check(&self, _exchange: &Exchange, _options: &CheckOptions) -> Verdict {
        todo!()
    }

    /// The id of the documented operation that has this method and raw path, if there is one.
    #[must_use]
    pub fn operation_id(&self, _method: &str, _path: &str) -> Option<Arc<str>> {
        todo!()
    }

    /// Whether a raw path is the contract's business: under a server's base path (itself, or followed by a slash), or a
    /// documented operation's outside of it (the token endpoint). What is not is another site in a browser's export.
    #[must_use]
    pub fn covers(&self, _path: &str) -> bool {
        todo!()
    }
}

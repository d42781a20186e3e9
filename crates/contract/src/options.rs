//! Options of the check.

use std::time::Duration;

use contrail_exchange::json;

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
    /// Keys for signatures are given: a signature that was not checked is unchecked though the tenant refused the token.
    pub signatures: bool,
    /// Tolerance for `exp` and `nbf`.
    pub clock_skew: Duration,
    /// Maximum nesting of JSON that is judged; deeper bodies are unchecked.
    pub max_depth: usize,
    /// Origins besides the request's own that count as the tenant's in an audience (`https://tenant.example`, the
    /// upstream's).
    pub tenant_origins: Vec<String>,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self {
            request: true,
            response: true,
            auth: true,
            signatures: false,
            clock_skew: Duration::ZERO,
            max_depth: json::MAX_DEPTH,
            tenant_origins: Vec::new(),
        }
    }
}

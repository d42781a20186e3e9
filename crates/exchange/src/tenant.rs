//! Facts about a tenant that proxy, replay and redaction need, as a trait.

use std::fmt;

/// The token endpoints and audiences of a tenant, from its contract.
pub trait TenantFacts: Send + Sync + fmt::Debug {
    /// Whether tokens are issued at this raw path, with or without a slash at its end.
    fn is_token_path(&self, path: &str) -> bool;

    /// The path of the tenant's own audience for the path of another one: `/api/v2/` for `/api/v2`. `None` where the
    /// tenant has no audience with this path.
    fn audience_path(&self, path: &str) -> Option<String>;

    /// Whether the contract lists this value of a field `code`, so that it is no authorization code: everybody knows it.
    fn lists_code(&self, _value: &str) -> bool {
        false
    }

    /// Whether this is a request for a token.
    fn is_token_request(&self, method: &http::Method, path: &str) -> bool {
        *method == http::Method::POST && self.is_token_path(path)
    }
}

/// A tenant of which nothing is known.
#[derive(Debug, Clone, Copy, Default)]
pub struct UnknownTenant;

impl TenantFacts for UnknownTenant {
    fn is_token_path(&self, _path: &str) -> bool {
        false
    }

    fn audience_path(&self, _path: &str) -> Option<String> {
        None
    }
}

//! One request on its way to the upstream, and the response on its way back.

pub(super) mod audience;
pub mod hop;
pub(super) mod in_progress;
pub(super) mod informational;
pub(super) mod request_body;
pub(super) mod response_body;
pub mod reverse;
pub(super) mod upgrade;

//! One request on its way to the upstream, and the response on its way back.

pub(super) mod acceptable;
mod audience;
pub(super) mod destination;
pub(super) mod endings;
mod event_times;
mod hold;
pub mod hop;
mod in_progress;
mod informational;
mod links;
mod request_body;
pub(super) mod response_body;
pub(super) mod reverse;
pub(super) mod upgrade;

//! Informational answers (1xx) of the upstream on their way to the client.

use std::{fmt, sync::Arc};

use http::{HeaderMap, StatusCode};

use super::hop;
use crate::upstream::Inform;
use crate::{Observer, wire::state::ConnectionState};

/// Takes the informational responses to one request.
pub(crate) struct Sink {
    pub(crate) state: Arc<ConnectionState>,
    pub(crate) request_seq: u64,
    pub(crate) observer: Arc<dyn Observer>,
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sink({})", self.request_seq)
    }
}

impl Inform for Sink {
    fn inform(&self, status: StatusCode, headers: &HeaderMap) {
        self.observer.on_informational(headers);
        self.state.informational().inform(self.request_seq, status, &hop::response(headers.clone()));
    }
}

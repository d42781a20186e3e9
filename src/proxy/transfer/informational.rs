//! Informational answers (1xx) of the upstream on their way to the client.

use std::{fmt, sync::Arc};

use http::{HeaderMap, StatusCode};

use super::hop;
use crate::proxy::{Observer, wire::state::State};
use crate::upstream::Inform;

/// Where the interim answers to one request go.
pub(in crate::proxy) struct To {
    pub(in crate::proxy) state: Arc<State>,
    pub(in crate::proxy) turn: u64,
    pub(in crate::proxy) observer: Arc<dyn Observer>,
}

impl fmt::Debug for To {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "To({})", self.turn)
    }
}

impl Inform for To {
    fn inform(&self, status: StatusCode, headers: &HeaderMap) {
        self.observer.informed(headers);
        self.state.interim().inform(self.turn, status, &hop::response(headers.clone()));
    }
}

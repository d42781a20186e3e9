//! Reasons to reject a request before it becomes an exchange.

use http::StatusCode;

/// Why a request is turned away before it is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestFault {
    pub(crate) status: StatusCode,
    /// The value of `Contrail-Answer`.
    pub(crate) reason: &'static str,
    /// In words; holds nothing of the request.
    pub(crate) detail: &'static str,
}

impl RequestFault {
    pub(super) const fn bad(detail: &'static str) -> Self {
        Self { status: StatusCode::BAD_REQUEST, reason: "bad-request", detail }
    }

    pub(crate) const TARGET: Self = Self {
        status: StatusCode::URI_TOO_LONG,
        reason: "max-target",
        detail: "the request target is longer than --max-target",
    };
    pub(crate) const HEADER_BYTES: Self = Self {
        status: StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        reason: "max-header-bytes",
        detail: "the request head is larger than --max-header-bytes",
    };
    pub(crate) const HEADERS: Self = Self {
        status: StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        reason: "max-headers",
        detail: "the request has more header fields than --max-headers",
    };
    pub(super) const SLOW: Self = Self {
        status: StatusCode::REQUEST_TIMEOUT,
        reason: "header-timeout",
        detail: "the request head did not arrive within --header-timeout",
    };
    pub(super) const REQUEST_LINE: Self =
        Self::bad("a request line is a method, a target and a version, one space apart");
    pub(super) const LENGTH: Self = Self {
        status: StatusCode::PAYLOAD_TOO_LARGE,
        reason: "max-body",
        detail: "the request body is larger than --max-body",
    };
    pub(super) const VERSION: Self = Self {
        status: StatusCode::HTTP_VERSION_NOT_SUPPORTED,
        reason: "http-version",
        detail: "the request line names another version than 1.0 and 1.1",
    };
}

//! Answers HTTP requests from recordings, without a socket. A request that no recording answers gets a
//! [`Miss`](contrail_proxy::upstream::Miss), which names the nearest recording and every difference.
//!
//! Recorded entries make a [`Replay`]; a request (with its secrets already replaced by the plan that made the recording)
//! gets an answer or a miss. Matching is by site, method, raw path, decoded query and body by value, never by headers;
//! among entries of one identity the caller's own come first, of these the ones with the request's labels, and then
//! those with its header fields; the same request asked again gets the next recorded answer, counted per request.
//!
//! Pure but for [`ReplayUpstream`], the [`Upstream`](contrail_proxy::upstream::Upstream) that carries it. Knows nothing
//! of sockets, files or contracts.

mod builder;
mod by_order;
mod caller;
mod conditions;
mod differences;
mod echo;
mod faults;
mod fields;
mod grant;
mod index;
mod labels;
mod latency;
mod mask;
mod miss;
mod missing;
mod pieces;
mod prepared;
mod recordings;
mod sequence;
mod serve;
mod sites;
mod suggest;
mod token_endpoint;
mod upstream;

#[cfg(test)]
mod tests;

pub use self::{
    builder::{Builder, Preparer, Settings},
    faults::{BadFault, Fault, Faults},
    latency::{BadLatency, Latency, Paced},
    missing::ReplayOr,
    prepared::{OperationOf, Prepared, RedactFailure, RedactRequest},
    recordings::{RecordedExchange, Replay, Served, Unproven},
    sequence::Exhausted,
    serve::Answer,
    sites::Names,
    suggest::{Asked, Suggested, suggest},
    upstream::ReplayUpstream,
};

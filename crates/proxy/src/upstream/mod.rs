//! Where answers come from: `live` (a tenant over http or https), `replay` (a recording), `sandbox` (the embedded
//! tenant). The proxy treats them alike: each is an [`Upstream`].
//!
//! A request arrives here as the tenant is to see it: raw target, hop-by-hop headers gone, Host set. What an upstream
//! knows about its answer beyond the message (a retry, a miss) is in [`AnswerMeta`] beside it.

mod answer;
mod body;
mod failure;
pub mod live;
mod miss;
pub mod no_proxy;
mod origin;
pub mod own;
pub mod private_key;
mod problem;
mod request;
mod reread;
pub mod routes;

pub use answer::{Answer, AnswerFuture, AnswerMeta, Denied, NoAnswer, RequestKey, Upstream, UpstreamKind};
pub use body::{BodyError, MessageBody, RequestBody, Response, ResponseBody};
pub use failure::{Failure, FailureKind};
pub use miss::{MISS, Miss, Reason};
pub use origin::{Origin, OriginError, masked};
pub use problem::{CONTRAIL_ANSWER, Problem};
pub use request::{ClientOrigin, Inform, Request, ReverseListener};
pub use reread::irregular;

//! Trails and recordings beyond this machine: object stores, NATS JetStream, OpenTelemetry, Parquet tables. Without the
//! feature `fleet` there are only the URLs, and the sentence that contrail prints where one is used.

mod folders;
mod forward;
#[cfg(feature = "fleet")]
mod nats;
#[cfg(feature = "fleet")]
mod otlp;
#[cfg(feature = "fleet")]
pub mod parquet;
#[cfg(feature = "fleet")]
mod segments;
#[cfg(feature = "fleet")]
mod store;
mod telemetry;
mod url;
#[cfg(feature = "fleet")]
mod worker;

#[cfg(feature = "fleet")]
use self::{forward::Forward, segments::segments};
pub use folders::{buffer_of, cache};
pub use forward::{Buffer, Ended, FleetError, Forwarder, fetch};
pub use telemetry::{Receiver, ReceiverUrl, ReceiverUrlError, Telemetry};
pub use url::{RemoteUrl, Scheme, UrlError};

/// Whether this contrail can reach such places.
pub const IS_BUILT: bool = cfg!(feature = "fleet");

/// What to say of a URL where it cannot.
pub const NOT_BUILT: &str = "needs a contrail that was built with `--features fleet`";

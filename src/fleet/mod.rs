//! What reaches beyond one machine; built with the feature `fleet` only.

pub mod nats;

//! Where answers come from: `live` (a tenant over http or https), `replay` (a recording), `sandbox` (the embedded
//! tenant). The proxy cannot tell them apart.

pub mod sandbox;

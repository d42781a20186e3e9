//! The proxy: listeners, limits, hop-by-hop headers, the capture of an exchange. It sees neither contracts nor files.

pub mod authority;

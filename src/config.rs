//! Settings: flags, then `CONTRAIL_*` variables, then `contrail.toml`; all checked before a port is bound.

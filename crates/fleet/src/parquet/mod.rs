//! Exchanges, findings and tokens' facts as three Parquet tables, for query engines.
//!
//! A [`Row`] is what one exchange adds to them, [`Tables`] writes rows in bounded row groups, and a [`Spool`] holds
//! those of another tool's recording until its end. `docs/queries.md` lists the columns; a test compares the two.
//!
//! Units: microseconds, as `TIMESTAMP(MICROS, UTC)` for instants. Accepts
//! [`Redacted`](contrail_redact::Redacted) values only. Knows nothing of files and arguments.

mod row;
mod rows;
mod schema;
mod spool;
mod tables;
mod writer;

pub use self::{
    row::Row,
    rows::{Place, Rows},
    schema::TABLES,
    spool::Spool,
    tables::{Counts, Tables},
    writer::{GroupLimits, TableError},
};

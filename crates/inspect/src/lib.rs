//! The live page: a person's view of exchanges, live or from files. It shows the findings of each one,
//! the bytes that a finding is about, and the passage of the contract that states the rule.
//!
//! The server holds the data, the page holds the screen. The page gets the rows that it shows, and bodies as numbered
//! lines of tokens; it never parses what was recorded. So memory in the browser stays small, numbers stay exact, bodies
//! can be searched, and no recorded text becomes markup.
//!
//! [`Inspector`] takes judged and redacted exchanges and keeps them: a summary of each in memory, its bytes in an
//! unnamed temporary file of bounded size. `guard` decides who gets an answer, before anything else looks at a request.
//!
//! Only [`Redacted`](contrail_redact::Redacted) values come in. Knows nothing of arguments and exit statuses.

mod api;
mod assets;
mod bodies;
mod compare;
mod curl;
mod documents;
mod exchange;
mod fields;
mod filter;
mod findings;
mod groups;
mod guard;
mod har;
mod image;
mod inspector;
mod kept;
mod lines;
mod lists;
mod message;
mod names;
mod operations;
mod passage;
mod store;
mod stream;
mod summary;
mod timeline;
mod values;
mod views;

pub use self::{
    api::{Host, serve},
    guard::{Guard, Token},
    inspector::{Advice, Facts, Inspector, Settings},
    store::{End, Reading, Taken, Variable},
};

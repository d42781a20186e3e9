//! The embedded tenant: six operations and a token endpoint, with state, in memory. [`mock`] answers for any other
//! contract.
//!
//! The tenant is written from its document by hand and imports nothing from [`contrail_contract`], so that the two can
//! disagree.
//!
//! [`Tenant::answer`] is pure but for the tenant's own state: a whole request in, a whole answer out, no socket. Around
//! it, [`serve()`] is a small HTTP/1.1 server. What the document leaves open is picked plainly and listed in
//! [`CHOICES`]; what a tenant can do wrong it does on request ([`Misbehaviour`]).

mod call;
mod choices;
mod fields;
mod input;
mod keys;
mod limits;
mod message;
mod misbehave;
pub mod mock;
mod oauth;
mod perform;
mod seed;
mod serve;
mod state;
mod tenant;
#[cfg(test)]
mod tests;

pub use self::{
    choices::{CHOICES, Choice},
    keys::Keys,
    message::{Answer, AnswerBody, Answers, Ask, InProcess},
    misbehave::{Misbehaviour, MisbehaviourError},
    seed::{BUILT_IN as BUILT_IN_SEED, Client, Seed, SeedError},
    serve::serve,
    tenant::{Clock, Samples, Tenant},
};

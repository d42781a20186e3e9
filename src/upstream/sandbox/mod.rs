//! The embedded sandbox tenant: written from the tenant's document by hand. It imports nothing from
//! [`crate::contract`], so that the two can disagree.

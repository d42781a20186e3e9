//! Fakes and helpers shared by the promises.

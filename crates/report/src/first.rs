//! Which of many exchanges shows something first: the one that started first, or without instants the one that was
//! read first.

use std::{
    ops::{Deref, DerefMut},
    time::SystemTime,
};

/// What is of an exchange.
pub trait Dated {
    /// When the exchange started.
    fn at(&self) -> Option<SystemTime>;
}

/// The first of what was taken so far, in the order of reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct First<T>(T);

impl<T: Dated> First<T> {
    pub(super) const fn new(first: T) -> Self {
        Self(first)
    }

    /// Takes the next exchange, which started then.
    pub(super) fn take(&mut self, started: Option<SystemTime>, next: impl FnOnce() -> T) {
        if started.is_some() && started < self.0.at() {
            self.0 = next();
        }
    }
}

impl<T> Deref for First<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for First<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

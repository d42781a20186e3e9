//! Numbers of entries or masks: mostly one, which takes no allocation.

use std::ops::{Deref, DerefMut};

/// At least one number, in order.
#[derive(Debug)]
pub(super) struct Numbers(Held);

#[derive(Debug)]
enum Held {
    One(u32),
    // A box is a third of the size of what it holds, and there are millions of single numbers.
    #[allow(clippy::box_collection)]
    Many(Box<Vec<u32>>),
}

impl Numbers {
    pub(super) fn one(number: u32) -> Self {
        Self(Held::One(number))
    }

    pub(super) fn push(&mut self, number: u32) {
        match &mut self.0 {
            Held::One(first) => self.0 = Held::Many(Box::new(vec![*first, number])),
            Held::Many(all) => all.push(number),
        }
    }
}

impl Deref for Numbers {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        match &self.0 {
            Held::One(number) => std::slice::from_ref(number),
            Held::Many(all) => all,
        }
    }
}

impl DerefMut for Numbers {
    fn deref_mut(&mut self) -> &mut [u32] {
        match &mut self.0 {
            Held::One(number) => std::slice::from_mut(number),
            Held::Many(all) => all,
        }
    }
}

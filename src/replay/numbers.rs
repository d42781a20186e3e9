//! Numbers of entries or masks: mostly one, which takes four bytes and no allocation.

/// At least one number, in order; see [`NumberLists`].
#[derive(Debug)]
pub(super) struct Numbers(u32);

/// Of a list: the others are numbers.
const LIST: u32 = 1 << 31;

impl Numbers {
    pub(super) fn one(number: u32) -> Self {
        Self(number & !LIST)
    }
}

/// What [`Numbers`] of more than one stand for.
#[derive(Debug, Default)]
pub(super) struct NumberLists(Vec<Vec<u32>>);

impl NumberLists {
    /// Adds a number behind the others.
    pub(super) fn push(&mut self, numbers: &mut Numbers, number: u32) {
        match self.list(numbers) {
            Some(list) => list.push(number),
            None => {
                let list = u32::try_from(self.0.len()).unwrap_or(u32::MAX) | LIST;
                self.0.push(vec![numbers.0, number]);
                numbers.0 = list;
            }
        }
    }

    /// The numbers, where there are several.
    pub(super) fn list(&mut self, numbers: &Numbers) -> Option<&mut Vec<u32>> {
        (numbers.0 & LIST != 0).then(|| &mut self.0[(numbers.0 & !LIST) as usize])
    }

    pub(super) fn of<'a>(&'a self, numbers: &'a Numbers) -> &'a [u32] {
        if numbers.0 & LIST == 0 {
            return std::slice::from_ref(&numbers.0);
        }
        &self.0[(numbers.0 & !LIST) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_and_several_are_read_alike() {
        let mut lists = NumberLists::default();
        let (mut left, mut right) = (Numbers::one(7), Numbers::one(0));
        assert_eq!(lists.of(&left), [7]);
        for number in 1..4 {
            lists.push(&mut left, number);
            lists.push(&mut right, number * 10);
        }
        assert_eq!(lists.of(&left), [7, 1, 2, 3]);
        assert_eq!(lists.of(&right), [0, 10, 20, 30]);
        assert_eq!(size_of::<Numbers>(), 4);
    }
}

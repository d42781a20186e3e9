//! The request lines of recorded exchanges: in as much memory as their text takes.

/// Lines in one allocation. A line costs four bytes beside its text; an allocation of its own would cost 30.
const IN_BLOCK: usize = 1024;

/// Method and target of requests, numbered from 0.
#[derive(Debug, Default)]
pub(super) struct RequestLines {
    blocks: Vec<Box<str>>,
    open: String,
    /// Where each line ends in its block. A block of more than 4 GiB shows its last lines empty.
    ends: Vec<u32>,
}

impl RequestLines {
    pub(super) fn push(&mut self, line: &str) {
        self.open.push_str(line);
        self.ends.push(u32::try_from(self.open.len()).unwrap_or(u32::MAX));
        if self.ends.len().is_multiple_of(IN_BLOCK) {
            self.blocks.push(std::mem::take(&mut self.open).into());
        }
    }

    /// The line of this number; empty if there is none.
    pub(super) fn get(&self, number: u32) -> &str {
        let number = number as usize;
        let block = self.blocks.get(number / IN_BLOCK).map_or(&*self.open, |block| block);
        let start = if number.is_multiple_of(IN_BLOCK) { 0 } else { self.ends[number - 1] as usize };
        self.ends.get(number).and_then(|end| block.get(start..*end as usize)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_whole_whatever_their_block() {
        let line = |number: u32| format!("GET /{}{}", "x".repeat(number as usize % 7), number);
        let mut lines = RequestLines::default();
        for number in 0..3000 {
            lines.push(&line(number));
        }
        for number in 0..3000 {
            assert_eq!(lines.get(number), line(number));
        }
    }
}

//! Reads the computation that a counting kernel counted and charged between two moments from its `/proc/cpu_price`.
//!
//! The file has one line: nanoseconds charged so far, those of them in which other threads could run, and how often each class of
//! computation occurred. Other kernels have no such file, and are not asked.

use fsverdict_judgement::journal::CountedComputation;
use fsverdict_linux::host::root::{OpenFile, PAGE, ReadError, Root};

const FILE: &str = "proc/cpu_price";

/// The names of the classes, in the order of the kernel's counts.
pub type ComputationClasses = &'static [&'static str];

#[derive(Debug)]
pub(super) struct ComputationProbe {
    file: OpenFile,
    classes: ComputationClasses,
}

/// The kernel's numbers at one moment, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ComputationSample(Vec<u64>);

impl ComputationProbe {
    /// Opens the file of a kernel that counts, and has it begin to count.
    pub(super) fn open(root: &Root, classes: ComputationClasses) -> Result<Self, ReadError> {
        let probe = ComputationProbe { file: OpenFile::open(root, FILE)?, classes };
        // The kernel begins when it is first asked.
        probe.sample()?;
        Ok(probe)
    }

    pub(super) fn sample(&self) -> Result<ComputationSample, ReadError> {
        let mut buffer = [0; PAGE];
        let text = self.file.read(&mut buffer)?;
        let wrong = |item: String, expected, found: &str| ReadError::Malformed {
            file: self.file.path().to_owned(),
            line: 1,
            item,
            expected,
            found: found.to_owned(),
        };
        let number = |(at, word): (usize, &str)| {
            word.parse().map_err(|_| wrong(format!("number {}", at + 1), "a whole number", word))
        };
        let numbers =
            text.split_ascii_whitespace().enumerate().map(number).collect::<Result<Vec<u64>, _>>()?;
        if numbers.len() != self.classes.len() + 2 {
            let expected = "two more than the classes that this version knows (a kernel of another version?)";
            return Err(wrong("the number of numbers".to_owned(), expected, &numbers.len().to_string()));
        }
        Ok(ComputationSample(numbers))
    }

    /// The counts between two samples.
    pub(super) fn between(
        &self,
        before: &ComputationSample,
        after: &ComputationSample,
    ) -> CountedComputation {
        let mut numbers = before.0.iter().zip(&after.0).map(|(before, after)| after.saturating_sub(*before));
        let (charged_ns, slept_ns) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        let counts = self.classes.iter().zip(numbers).filter(|(_, count)| *count > 0);
        let counts = counts.map(|(class, count)| ((*class).to_owned(), count)).collect();
        CountedComputation { charged_ns, slept_ns, counts }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{ComputationClasses, ComputationProbe};
    use crate::measure::fake_root;

    const CLASSES: ComputationClasses = &["block_hot", "byte_copied", "page_fault"];

    #[test]
    fn counts_are_those_between_two_samples_by_the_names_of_their_classes() {
        let (_folder, root) = fake_root(&[("proc/cpu_price", "0 0 0 0 0\n")]);
        let probe = ComputationProbe::open(&root, CLASSES).unwrap();
        let before = probe.sample().unwrap();
        std::fs::write(root.path("proc/cpu_price"), "1500 400 70 4096 0\n").unwrap();
        let found = probe.between(&before, &probe.sample().unwrap());
        assert_eq!((found.charged_ns, found.slept_ns), (1500, 400));
        let counts = BTreeMap::from([("block_hot".to_owned(), 70), ("byte_copied".to_owned(), 4096)]);
        assert_eq!(found.counts, counts);
    }

    #[test]
    fn a_kernel_that_does_not_count_or_counts_other_classes_is_refused() {
        let (_folder, root) = fake_root(&[("proc/stat", "cpu 1\n")]);
        let error = ComputationProbe::open(&root, CLASSES).unwrap_err();
        assert!(error.to_string().contains("proc/cpu_price: No such file"), "{error}");
        for (text, told) in
            [("1 2 3 4\n", "another version"), ("1 2 3 4 x\n", "number 5 should be a whole number")]
        {
            let (_folder, root) = fake_root(&[("proc/cpu_price", text)]);
            let error = ComputationProbe::open(&root, CLASSES).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
    }
}

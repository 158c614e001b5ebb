//! Calculates verdicts: reads the plan as it was written and the journal of the run, and derives everything else from
//! the two.
//!
//! Nothing here touches a device, runs a program or knows a lab: the compiler holds it to that, for none of those rooms
//! is in this crate, nor how anything is said. Its rooms stand on one another in this order, as those of the program stand on them.

pub mod plan;

pub mod journal;

pub mod statistics;

pub mod verdict;

// The crate `testutil` depends on this one; the tests of this one compile its journals (`journal::made`) as a part of this crate.
#[cfg(test)]
extern crate self as fsverdict_judgement;

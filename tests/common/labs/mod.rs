//! What must hold in each lab, told which; the tiers call it with theirs.

pub mod arrays;
pub mod attribution;
pub mod confinement;
pub mod crash;
pub mod device_faults;
pub mod foreign_writes;
pub mod namespaces;
pub mod questions;
pub mod refusals;
pub mod secrets;
pub mod staging;
pub mod steps;
pub mod traces;

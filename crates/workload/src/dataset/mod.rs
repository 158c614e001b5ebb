//! Datasets: the files that phases work on, generated from a seed or copied from a real folder, and how to verify them.
//!
//! Generated data depend only on plan and seed: the same bytes on every machine, in every lab, in every trial.
//! [`prepare_dataset()`] lays a dataset out in memory, [`stage_dataset()`] writes it into a folder for command phases,
//! and a [`Manifest`] describes exactly the content that a phase must leave.

mod aged;
mod capture;
mod churn;
mod compare;
mod compare_entries;
mod content;
mod copy;
mod copy_file;
mod descriptor;
mod digest;
mod error;
mod folder;
mod folder_files;
mod form;
mod generate;
#[cfg(test)]
mod generate_tests;
mod list;
mod manifest;
mod names;
mod prepare;
mod profile;
mod pull;
mod random;
mod readable;
mod sizes;
mod skipped;
mod stage;
mod traced;
mod transfer;
mod tree;
mod write;
mod write_probe;
mod write_shared;

pub use capture::{CapturedShape, capture_shape};
pub use compare::{CompareError, HardLinks};
pub use descriptor::{open_directory_below, open_path};
pub use error::{DatasetError, IoFailure};
pub use folder::{FolderTotals, PartialDirectory, Selection, holds_data, select_for_dataset};
pub use manifest::Manifest;
pub use prepare::{Prepared, prepare_dataset, prepare_with_names};
pub use profile::{PROFILES, Profile, profile_by_name};
pub use readable::{Readable, check_readable};
pub use skipped::Skipped;
pub use stage::{Staged, StagingRecord, adopt_staged, room_for, stage_dataset};
pub use tree::Totals;

pub(crate) use aged::{AgedFile, AgedTree};
pub(crate) use churn::CreatedFile;
pub(crate) use content::{Body, Content, TRANSFER};
pub(crate) use descriptor::{Listing, open_directory, open_path_quietly, stat_entry, type_of};
pub(crate) use digest::open_to_read;
pub(crate) use manifest::SharedFiles;
pub(crate) use prepare::DatasetOrigin;
pub(crate) use pull::{Pull, Pulled};
pub(crate) use random::{RandomStream, mix_bits};
pub(crate) use transfer::read_some;
pub(crate) use tree::{Tree, TreeEntry};
pub(crate) use write::{Manner, NewTree, Sharing, TreeSource, write_tree};
pub(crate) use write_probe::{Call, Untimed, WriteProbe};
pub(crate) use write_shared::{ThreadPart, write_directories, write_files, write_links};

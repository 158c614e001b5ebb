//! Packages of Debian and Ubuntu that are fetched with apt-get and used without being installed: the tools of
//! filesystems (`fsverdict tools`), and ZFS for a laboratory kernel.

mod archive;
mod download;
mod error;
mod program_folder;
mod staged_folder;
mod tools;

pub(crate) use download::{PackageLists, debian_codename, debian_suite, list_dependencies};
pub use error::PackageError;
pub(crate) use program_folder::{LARGEST_PROGRAM, ProgramFolder, library_triplet};
pub(crate) use staged_folder::StagedFolder;
pub use staged_folder::remove_left_folders;
pub use tools::{BCACHEFS_TOOLS, FetchedTools, ToolSet, all_tools_folders, tools_folder};

//! Safe access, through descriptors, to folders and files that other users may own, write to or replace.

mod file;
mod handle;
mod lookup;
mod new_file;
mod refusal;
mod remove;
#[cfg(test)]
mod tests;

pub use file::FolderFile;
pub use handle::FolderHandle;
pub use lookup::{LISTED_FOLDER, list_folder, open_below};
pub use new_file::{NewFile, PRIVATE, SHARED};
pub(crate) use refusal::FolderRefusal;
pub use remove::{empty_folder, remove_folder, remove_tree};

//! Safe access, through descriptors, to folders and files that other users may own, write to or replace.
//!
//! No link of another user is followed, no special file is opened, and reading is bounded. Other crates open here
//! anything that another user or a sandboxed program may have put in place.

mod file;
mod handle;
mod lookup;
mod named_path;
mod new_file;
mod output_file;
mod refusal;
mod regular;
mod remove;
#[cfg(test)]
mod tests;
mod untrusted;

pub use file::FolderFile;
pub use handle::{FolderHandle, own_users};
pub use lookup::{LISTED_FOLDER, list_folder, open_below};
pub use named_path::{open_through_links_of, path_by_number, real_path};
pub use new_file::{NewFile, PRIVATE, SHARED};
pub use output_file::{Existing, OutputFile, write_output};
pub use refusal::FolderRefusal;
pub use regular::{Links, name_file_type, open_regular, read_beginning, read_regular};
pub use remove::{empty_folder, remove_folder, remove_tree};
pub use untrusted::open_own;

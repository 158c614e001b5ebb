//! Laboratory kernels: User-Mode Linux with simulated time and every filesystem, built from sources of the
//! distribution's or the user's, and kept in a cache.

mod attendant;
mod build;
mod build_step;
mod cache;
mod compile;
mod cpu_classes;
mod error;
mod fragment;
mod interrupted;
mod kernel_modules;
mod missing_options;
mod module_build;
mod module_table;
mod outcome;
mod package;
mod patch;
mod scratch;
mod source;
mod source_digest;
mod staged;
mod zfs;
mod zfs_packages;

pub use attendant::Attendant;
pub use build::{BuiltKernel, Recipe, ZfsRequest, build_kernel, find_build_obstacle};
pub use cache::{KernelCache, KernelEntry, KernelFacts, programs_beside};
pub(crate) use cache::{LARGEST_CONFIG, LARGEST_KERNEL, parse_release_numbers};
pub use compile::Progress;
pub use cpu_classes::CPU_CLASSES;
pub use error::{KernelBuildError, PackageFault};
pub(crate) use fragment::COUNTING;
pub use fragment::way_out;
pub use kernel_modules::KernelModules;
pub use missing_options::MissingOption;
pub use module_build::compile_missing;
pub use module_table::KernelModule;
pub use outcome::{KernelFailure, KernelProof, KernelTrial, Subject};
pub use package::{export_kernel, import_kernel};
pub use source::is_release;

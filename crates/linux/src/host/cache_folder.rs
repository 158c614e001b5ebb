//! Where fsverdict keeps its caches: in a folder of the user's own, and in root's, which everybody reads.

use std::path::PathBuf;

/// The cache of root, which everybody can read.
pub const SHARED_CACHE: &str = "/var/cache/fsverdict";

/// The cache of this user: `$XDG_CACHE_HOME/fsverdict`, for root the shared one, otherwise `~/.cache/fsverdict`. A user
/// without a home has the shared one, too.
pub fn user_cache() -> PathBuf {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    match folder("XDG_CACHE_HOME") {
        Some(cache) => cache.join("fsverdict"),
        None if rustix::process::geteuid().is_root() => PathBuf::from(SHARED_CACHE),
        None => folder("HOME").map_or(PathBuf::from(SHARED_CACHE), |home| home.join(".cache/fsverdict")),
    }
}

//! Describes a trial to its guest: the description as a disk, and the user's folders that the guest must see.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::trial::Assignment;
use fsverdict_judgement::plan::Dataset;
use fsverdict_linux::sandbox::SandboxError;

/// The description's disk is a multiple of this; the kernel looks for partition tables that far into a disk.
const DESCRIPTION_SIZE: usize = 64 * 1024;

/// Where a guest and the sandbox within it have mounts of their own.
const COVERED: [&str; 5] = ["/dev", "/proc", "/run", "/sys", "/tmp"];

/// A user's folder, to be shown where it is.
pub(super) fn covered_folder(dataset: &Dataset) -> Option<(PathBuf, PathBuf)> {
    match dataset {
        Dataset::Folder { path, .. } if ["/run", "/dev"].iter().any(|covered| path.starts_with(covered)) => {
            Some((path.clone(), path.clone()))
        }
        _ => None,
    }
}

/// Where a guest looks for programs, after the folders of [`program_folders`].
pub(super) const USUAL_FOLDERS: [&str; 6] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// The folders of `PATH` that a guest must search before the usual ones in order to find the programs that are found here, as
/// a `PATH`; `None` where the usual ones suffice.
///
/// A guest's kernel looks into each of them whenever it starts a program, and computation with a price takes time: so a
/// folder without any of `tools` is left out, and the user's PATH does not change a run's traces. Only where the plan
/// has commands of its own, which may start any program, all of PATH is searched.
pub(super) fn program_folders(tools: &[&str], has_commands: bool) -> Option<String> {
    let path = std::env::var("PATH").ok()?;
    let folders = folders_to_search(&path, tools, has_commands);
    (!folders.is_empty()).then(|| folders.join(":"))
}

/// Whether a guest sees this path of the host's.
pub(super) fn is_seen_by_guests(path: &Path) -> bool {
    path.is_absolute() && !COVERED.iter().any(|covered| path.starts_with(covered))
}

fn folders_to_search<'a>(path: &'a str, tools: &[&str], has_commands: bool) -> Vec<&'a str> {
    let all: Vec<&str> = path.split(':').filter(|folder| is_seen_by_guests(Path::new(folder))).collect();
    if has_commands {
        return all;
    }
    let holds_tool = |folder: &&str| tools.iter().any(|tool| Path::new(folder).join(tool).is_file());
    let is_needed = |folder: &&str| !USUAL_FOLDERS.contains(folder) && holds_tool(folder);
    let needed: Vec<&str> = all.iter().copied().filter(is_needed).collect();
    let same = tools.iter().all(|tool| find_tool(&all, tool) == find_tool(&needed, tool));
    if same { needed } else { all }
}

/// The program of this name that a guest finds which searches these folders, and then the usual ones.
fn find_tool(folders: &[&str], tool: &str) -> Option<PathBuf> {
    let found = folders.iter().chain(&USUAL_FOLDERS).map(|folder| Path::new(folder).join(tool));
    found.filter(|program| program.is_file()).find_map(|program| program.canonicalize().ok())
}

/// Which of its own disks (`ubd`, from 0) a guest has the datasets on; the one before has the trial's description.
pub(super) const UBD_OF_STAGING: usize = 2;

/// Which of them is the candidate's of this number, from 1.
pub(super) fn ubd_number(number: usize) -> usize {
    if number <= 1 { 0 } else { UBD_OF_STAGING + number - 1 }
}

/// The words for disks in real time: the candidate's, the trial's description, and datasets.
pub(super) fn ubd_disks(disks: &[i32], description: i32, staging: Option<i32>) -> Vec<String> {
    let of_candidate = |(number, disk)| format!("ubd{}=/proc/self/fd/{disk}", ubd_number(number));
    let mut words: Vec<String> = (1..).zip(disks).map(of_candidate).collect();
    words.insert(words.len().min(1), format!("ubd1r=/proc/self/fd/{description}"));
    words.extend(staging.map(|staging| format!("ubd{UBD_OF_STAGING}=/proc/self/fd/{staging}")));
    words
}

/// The trial's description as a disk: JSON and then zeros up to a whole number of sectors.
pub(super) fn describe_trial(assignment: &Assignment) -> Result<OwnedFd, SandboxError> {
    let failed =
        |source: std::io::Error| SandboxError::System { what: "describe the trial to the guest", source };
    let descriptor = rustix::fs::memfd_create("fsverdict-trial", rustix::fs::MemfdFlags::CLOEXEC)
        .map_err(|errno| failed(errno.into()))?;
    let mut file = std::fs::File::from(descriptor);
    let mut bytes = serde_json::to_vec(assignment).map_err(|error| failed(error.into()))?;
    bytes.resize((bytes.len() + 1).next_multiple_of(DESCRIPTION_SIZE), 0);
    file.write_all(&bytes).map_err(failed)?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use super::folders_to_search;

    #[test]
    fn only_folders_with_a_tool_of_their_own_are_searched_unless_the_plan_has_commands() {
        let place = tempfile::tempdir_in("/var/tmp").unwrap();
        let folder = |name: &str, tool: &str| {
            let folder = place.path().join(name);
            std::fs::create_dir(&folder).unwrap();
            std::fs::write(folder.join(tool), "").unwrap();
            folder.to_str().unwrap().to_owned()
        };
        let (cargo, own) = (folder("cargo", "cargo"), folder("own", "mkfs.ours"));
        let path = format!("{cargo}:{own}:/usr/bin:/tmp/covered:relative");
        // Two users with other PATHs, and the same tools.
        assert_eq!(folders_to_search(&path, &["sh"], false), [""; 0]);
        assert_eq!(folders_to_search("/bin:/usr/bin", &["sh"], false), [""; 0]);
        assert_eq!(folders_to_search(&path, &["sh", "mkfs.ours"], false), [own.as_str()]);
        assert_eq!(folders_to_search(&path, &["sh"], true), [cargo.as_str(), &own, "/usr/bin"]);
    }

    #[test]
    fn all_of_path_is_searched_where_its_order_decides_which_tool_it_is() {
        let place = tempfile::tempdir_in("/var/tmp").unwrap();
        let folders = ["first", "second"].map(|name| place.path().join(name));
        for folder in &folders {
            std::fs::create_dir(folder).unwrap();
            std::fs::write(folder.join("mkfs.ours"), "").unwrap();
        }
        let [first, second] = folders.each_ref().map(|folder| folder.to_str().unwrap());
        let path = format!("/usr/bin:{first}:{second}");
        assert_eq!(folders_to_search(&path, &["mkfs.ours"], false), [first, second]);
        // What is found in a usual folder goes before one of the same name in a folder behind it.
        std::fs::write(folders[0].join("sh"), "").unwrap();
        assert_eq!(folders_to_search(&path, &["sh"], false), ["/usr/bin", first, second]);
    }
}

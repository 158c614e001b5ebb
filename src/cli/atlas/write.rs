//! Writes the files of an atlas into its folder, and removes those of an earlier build that are no part of it any more.
//! Everything goes through the folder's descriptor: no link in it is followed.

use std::collections::BTreeSet;

use fsverdict_folders::FolderHandle;
use fsverdict_report::SiteFile;
use fsverdict_text::{Hinted, quoted};

use super::super::CliError;

/// The list of a site's files, by which the next build knows its own files.
const FILES: &str = "files.txt";
/// The most bytes of that list.
const LONGEST_LIST: u64 = 4 << 20;

pub(super) fn write_site(folder: &FolderHandle, files: &[SiteFile]) -> Result<(), CliError> {
    let failed = |path: &str, error: std::io::Error| {
        CliError::Failed(error.reason().after(format!("cannot write {}: ", quoted(path))))
    };
    for file in files {
        let written = match file.folder {
            None => folder.file(&file.name).replace(|out| out.write_all(&file.content)),
            Some(name) => folder
                .open_or_create_subfolder(name)
                .and_then(|inner| inner.file(&file.name).replace(|out| out.write_all(&file.content))),
        };
        written.map_err(|error| failed(&file.path(), error))?;
    }
    let paths: BTreeSet<String> = files.iter().map(SiteFile::path).collect();
    remove_earlier(folder, &paths)?;
    let list: String = paths.iter().map(|path| format!("{path}\n")).collect();
    folder.file(FILES).replace(|out| out.write_all(list.as_bytes())).map_err(|error| failed(FILES, error))
}

/// Removes files that an earlier build listed and that are no part of this one.
fn remove_earlier(folder: &FolderHandle, paths: &BTreeSet<String>) -> Result<(), CliError> {
    let Ok(earlier) = folder.file(FILES).read(LONGEST_LIST) else { return Ok(()) };
    let earlier = String::from_utf8_lossy(&earlier).into_owned();
    for old in earlier.lines().filter(|old| !paths.contains(*old)) {
        // The list may have been changed: a path that leads elsewhere is no file of a site.
        let file = match old.split_once('/') {
            None => Some(folder.file(old)),
            Some((inner, name)) if !name.contains('/') && inner != ".." => {
                folder.open_subfolder(inner).ok().map(|inner| inner.file(name))
            }
            Some(_) => None,
        };
        if let Some(file) = file.filter(|_| old != "..") {
            file.remove()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::write_site;
    use fsverdict_folders::FolderHandle;
    use fsverdict_report::SiteFile;

    fn file(folder: Option<&'static str>, name: &str) -> SiteFile {
        SiteFile { folder, name: name.to_owned(), content: b"x".to_vec() }
    }

    #[test]
    fn what_is_no_part_of_the_site_any_more_goes_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let outside = place.path().join("outside");
        std::fs::write(&outside, "kept").unwrap();
        let site = place.path().join("site");
        let folder = FolderHandle::open_or_create(&site).unwrap();
        write_site(&folder, &[file(None, "a.html"), file(Some("plans"), "a.toml")]).unwrap();
        std::fs::write(site.join("mine.html"), "mine").unwrap();
        let list = std::fs::read_to_string(site.join("files.txt")).unwrap();
        std::fs::write(site.join("files.txt"), format!("{list}../outside\nplans/../../outside\n..\n"))
            .unwrap();
        write_site(&folder, &[file(None, "b.html")]).unwrap();
        assert!(!site.join("a.html").exists() && !site.join("plans/a.toml").exists());
        assert!(site.join("b.html").exists() && site.join("mine.html").exists() && outside.exists());
    }

    #[test]
    fn a_link_in_the_folder_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let outside = place.path().join("outside");
        std::fs::write(&outside, "kept").unwrap();
        let site = place.path().join("site");
        let folder = FolderHandle::open_or_create(&site).unwrap();
        std::os::unix::fs::symlink(&outside, site.join("a.html")).unwrap();
        std::os::unix::fs::symlink(place.path(), site.join("plans")).unwrap();
        assert!(write_site(&folder, &[file(None, "a.html")]).is_err());
        assert_eq!(std::fs::read_to_string(&outside).unwrap(), "kept");
        assert!(write_site(&folder, &[file(Some("plans"), "outside")]).is_err());
        assert_eq!(std::fs::read_to_string(&outside).unwrap(), "kept");
    }
}

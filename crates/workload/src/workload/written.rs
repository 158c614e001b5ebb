//! Checks folders that a phase copied and then synced as a whole: after a later power cut all of it must exist.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::dataset::{HardLinks, Manifest, Prepared, Staged};

use super::{SavedReading, WorkError};

/// A folder that a phase filled, and that nothing else worked in until a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenFolder {
    /// The path relative to the mount point.
    pub into: String,
    pub dataset: String,
    /// When the syncfs after it returned, in nanoseconds of the device's clock.
    pub synced_ns: u64,
    /// From when on something else may have changed it.
    pub until_ns: u64,
}

impl WrittenFolder {
    /// Whether all of it must be there when power is cut at this nanosecond.
    pub fn is_promised(&self, cut_ns: u64) -> bool {
        (self.synced_ns..self.until_ns).contains(&cut_ns)
    }

    /// Compares every name, size and content with the copied ones, if that was guaranteed.
    pub fn check_after_cut(
        &self,
        mount: &Path,
        dataset: &Prepared,
        staged: Option<&Staged>,
        cut_ns: u64,
        reading: &mut SavedReading,
    ) -> Result<(), WorkError> {
        if !self.is_promised(cut_ns) {
            return Ok(());
        }
        let manifest = Manifest::for_generation(dataset, staged, 0)?;
        if let Err(difference) = manifest.compare_with(&mount.join(&self.into), HardLinks::MayBeCopies) {
            reading
                .note_broken("fsync", || format!("{}, which was copied and synced: {difference}", self.into));
        }
        Ok(())
    }

    /// Describes the data that must exist when power is cut at this nanosecond.
    pub fn describe_at(&self, cut_ns: u64) -> Option<String> {
        self.is_promised(cut_ns).then(|| format!("{}: all of the dataset {}", self.into, self.dataset))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::WrittenFolder;
    use crate::dataset::{DatasetOrigin, prepare_dataset};
    use crate::workload::SavedReading;
    use fsverdict_judgement::plan::Dataset;
    use fsverdict_text::Bytes;

    #[test]
    fn what_was_copied_must_be_there_once_it_was_synced_and_until_it_may_have_changed() {
        let dataset =
            prepare_dataset("photos", &Dataset::Flat { files: 3, file_size: Bytes(5000) }, 1).unwrap();
        let place = tempfile::tempdir().unwrap();
        let (into, named) = ("copy".to_owned(), "photos".to_owned());
        let folder = WrittenFolder { into, dataset: named, synced_ns: 100, until_ns: 200 };
        let broken = |cut_ns: u64| {
            let mut reading = SavedReading::default();
            folder.check_after_cut(place.path(), &dataset, None, cut_ns, &mut reading).unwrap();
            reading.broken.into_iter().next()
        };
        // Nothing is there at all.
        assert_eq!((broken(99), broken(200)), (None, None));
        assert_eq!(broken(100).unwrap().0, "fsync");
        assert_eq!((folder.describe_at(99), folder.describe_at(150).is_some()), (None, true));
        let DatasetOrigin::Generated { tree, content } = &dataset.origin else { panic!() };
        fs::create_dir(place.path().join("copy")).unwrap();
        let names = tree.entries.iter().map(|entry| tree.name_at(entry.name).to_string_lossy().into_owned());
        for (entry, name) in tree.entries.iter().zip(names.clone()) {
            let mut bytes = Vec::new();
            let body = crate::dataset::Body { identity: entry.what, generation: 0, size: entry.size };
            content.for_each_piece(&body, |piece| bytes.extend_from_slice(piece));
            fs::write(place.path().join("copy").join(name), bytes).unwrap();
        }
        assert_eq!(broken(150), None);
        let first = place.path().join("copy").join(names.clone().next().unwrap());
        fs::File::options().write(true).open(first).unwrap().set_len(100).unwrap();
        let (promise, seen) = broken(150).unwrap();
        assert!(promise == "fsync" && seen.starts_with("copy, which was copied and synced: "), "{seen}");
    }
}

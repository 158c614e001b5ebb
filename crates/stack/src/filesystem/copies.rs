//! How a filesystem that keeps copies of its data on several devices is used without one of them, and restored: command lines as
//! data.

/// Programs for a filesystem that keeps its copies itself. `{device}`, `{number}`, `{index}`, `{mount}`, `{data}` and `{metadata}` are
/// placeholders for the missing device, its number from 1 and from 0, the mount point, and the profiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyPrograms {
    pub said_as: ProfileWords,
    /// Run for each device before it is mounted without one; nothing where empty.
    pub forget: &'static [&'static str],
    /// Fills an empty device in the place of the missing one; run in order while it is mounted.
    pub rebuild: &'static [&'static [&'static str]],
    /// Reads and compares all copies; `None` if kernels of the laboratory cannot.
    pub scrub: Option<&'static [&'static str]>,
}

/// How mkfs is told what is kept more than once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileWords {
    /// Levels of RAID behind `-d` and `-m` (mkfs.btrfs(8); on several devices metadata are raid1 by default).
    RaidLevels,
    /// Numbers of copies behind `--replicas`, or behind `--data_replicas` and `--metadata_replicas` (bcachefs(8)).
    CopyCounts,
}

impl CopyPrograms {
    /// The profiles with these words of mkfs; `None` where the data or the metadata are there once.
    pub fn profiles(&self, mkfs: &[String]) -> Option<Profiles> {
        let value = |names: [&str; 2]| value_of(mkfs, names);
        let (data, metadata, is_kept): (_, _, fn(&str) -> bool) = match self.said_as {
            ProfileWords::RaidLevels => {
                (value(["-d", "--data"])?, value(["-m", "--metadata"]).unwrap_or("raid1"), |level| {
                    level != "raid0" && level.starts_with("raid")
                })
            }
            ProfileWords::CopyCounts => {
                let copies = |name| value([name, name]).or_else(|| value(["--replicas", "--replicas"]));
                (copies("--data_replicas")?, copies("--metadata_replicas")?, |count| {
                    count.parse::<u32>().is_ok_and(|count| count > 1)
                })
            }
        };
        let profiles = Profiles { data: data.to_owned(), metadata: metadata.to_owned() };
        (is_kept(data) && is_kept(metadata)).then_some(profiles)
    }

    /// Whether data are there twice on one and the same device.
    pub fn duplicates_data(&self, mkfs: &[String]) -> bool {
        self.said_as == ProfileWords::RaidLevels && value_of(mkfs, ["-d", "--data"]) == Some("dup")
    }

    /// Whether metadata are there twice: mkfs.btrfs makes two copies unless told otherwise.
    pub fn duplicates_metadata(&self, mkfs: &[String]) -> bool {
        self.said_as == ProfileWords::RaidLevels
            && !matches!(value_of(mkfs, ["-m", "--metadata"]), Some("single" | "raid0"))
    }
}

/// The profiles of a filesystem of several devices, in the words of its mkfs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profiles {
    pub data: String,
    pub metadata: String,
}

/// The values for the placeholders.
#[derive(Debug, Clone, Copy)]
pub struct CopyNames<'a> {
    pub device: &'a str,
    /// The number of the missing device among those of the filesystem, from 1.
    pub number: usize,
    pub mount: &'a str,
    pub profiles: &'a Profiles,
}

impl CopyNames<'_> {
    /// A command line with the values in place.
    pub fn put_in(&self, line: &[&str]) -> Vec<String> {
        let put = |word: &&str| {
            word.replace("{device}", self.device)
                .replace("{number}", &self.number.to_string())
                .replace("{index}", &self.number.saturating_sub(1).to_string())
                .replace("{mount}", self.mount)
                .replace("{data}", &self.profiles.data)
                .replace("{metadata}", &self.profiles.metadata)
        };
        line.iter().map(put).collect()
    }
}

/// The value of an option, which follows its short or its long name, or is joined with it.
fn value_of<'a>(words: &'a [String], [short, long]: [&str; 2]) -> Option<&'a str> {
    let at = |(index, word): (usize, &'a String)| {
        if word == short || word == long {
            return words.get(index + 1).map(String::as_str);
        }
        word.strip_prefix(long)
            .and_then(|rest| rest.strip_prefix('='))
            .or_else(|| word.strip_prefix(short).filter(|_| !word.starts_with("--")))
    };
    words.iter().enumerate().filter_map(at).next_back()
}

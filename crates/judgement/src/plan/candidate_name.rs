//! Short, unique names for candidates, derived from their differences.
//!
//! `ext4`, `ext4+luks2`, `ext3:^dir_index`, `btrfs:compress=zstd`, `ext4@mq-deadline`: the filesystem, a colon before
//! each option, a plus before each layer, an at-sign before the scheduler; then the environment of its trials
//! (`ext4-on-usb-stick`, `xfs-under-6.12`). A folder has its own name (`share` for `/mnt/share`).

use super::axes::AXES;
use super::axis::{Axis, AxisRole};
use super::{CONTROL_SUFFIX, Candidate, Environment};
use fsverdict_text::{Placed, Problems};

/// Names every draft that has none, and notes names that occur twice.
pub(super) fn name_all(drafts: &mut [Placed<Candidate>], problems: &Problems) {
    let given: Vec<String> = drafts.iter().map(|draft| draft.value.name.clone()).collect();
    let short: Vec<String> = drafts.iter().map(|draft| derive_name(&draft.value, false)).collect();
    for index in 0..drafts.len() {
        if !given[index].is_empty() {
            continue;
        }
        let shared = (0..drafts.len()).any(|other| {
            other != index
                && (given[other] == short[index] || (given[other].is_empty() && short[other] == short[index]))
        });
        drafts[index].value.name =
            if shared { derive_name(&drafts[index].value, true) } else { short[index].clone() };
    }
    for index in 1..drafts.len() {
        let (earlier, rest) = drafts.split_at(index);
        let Some(draft) = rest.first() else { continue };
        let Some(twin) = earlier.iter().find(|twin| twin.value.name == draft.value.name) else { continue };
        // The matrix stands before candidates in some files: the later of the two is reported.
        let at = draft.at.max(twin.at);
        let hint = "to try the same configuration twice, give one of them another `name`";
        problems.add(at, format!("there are two candidates `{}`", draft.value.name), hint);
    }
}

/// The name; in full it also holds the letters of the mkfs options.
fn derive_name(candidate: &Candidate, in_full: bool) -> String {
    let place = axis_marks(candidate, in_full, |axis| matches!(axis.role, AxisRole::Place));
    let name = if place.is_empty() { candidate.filesystem.clone() } else { place };
    name + &axis_marks(candidate, in_full, |axis| {
        !matches!(axis.role, AxisRole::Filesystem | AxisRole::Place)
    })
}

impl Candidate {
    /// A copy of the candidate with this change. A derived name is derived again; a name that the user gave gets the
    /// change appended.
    #[must_use]
    pub fn with_change(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut changed = self.clone();
        change(&mut changed);
        let in_full = [false, true].into_iter().find(|in_full| derive_name(self, *in_full) == self.name);
        changed.name = match in_full {
            Some(in_full) => derive_name(&changed, in_full),
            None => {
                let differs = |axis: &Axis| axis.set_level(&changed) != axis.set_level(self);
                format!("{}{}", self.name, axis_marks(&changed, false, differs))
            }
        };
        changed
    }
}

/// The candidate's values on these axes, each behind its mark.
fn axis_marks(candidate: &Candidate, in_full: bool, wanted: impl Fn(&Axis) -> bool) -> String {
    let mark = |axis: &Axis| match axis.set_level(candidate) {
        level if level.is_nothing() => String::new(),
        level => format!("{}{}", axis.mark, (axis.in_name)(&level, in_full)),
    };
    AXES.iter().filter(|axis| wanted(axis)).map(mark).collect::<String>().chars().map(safe_in_names).collect()
}

/// Commas would split a name in `--fs`, slashes and white space do not belong into a file's name.
fn safe_in_names(letter: char) -> char {
    match letter {
        ',' => ':',
        '/' => '_',
        other if other.is_whitespace() || other.is_control() => '_',
        other => other,
    }
}

impl Environment {
    /// For people: `usb-stick, Linux 6.12, 512 MiB of memory`; empty where there is nothing but the plan's own.
    pub fn title(&self) -> String {
        let bearer = self.as_candidate();
        let titles = AXES.iter().filter_map(|axis| match (&axis.role, axis.set_level(&bearer)) {
            (AxisRole::Circumstance(under), level) if !level.is_nothing() => Some((under.title)(&level)),
            _ => None,
        });
        titles.collect::<Vec<_>>().join(", ")
    }

    /// A candidate's name without its environment: that of the configuration alone.
    pub fn strip_from_name(&self, name: &str) -> String {
        let (name, twin) =
            name.strip_suffix(CONTROL_SUFFIX).map_or((name, ""), |name| (name, CONTROL_SUFFIX));
        let bearer = self.as_candidate();
        let suffixes = [false, true].map(|in_full| axis_marks(&bearer, in_full, Axis::is_circumstance));
        let bare = suffixes.iter().find_map(|suffix| name.strip_suffix(suffix.as_str()));
        format!("{}{twin}", bare.unwrap_or(name))
    }

    /// A candidate of which nothing is known but these: axes are asked of candidates.
    fn as_candidate(&self) -> Candidate {
        Candidate { under: self.clone(), ..Candidate::with_defaults("") }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    use super::super::{Candidate, Environment, Layers};
    use super::name_all;
    use fsverdict_text::{Bytes, Placed, Problems, TextSpan};

    fn candidate(filesystem: &str, mkfs: &[&str], mount: &[&str], layers: &[&str]) -> Placed<Candidate> {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let value = Candidate {
            name: String::new(),
            mkfs: owned(mkfs),
            mount: owned(mount),
            layers: Layers::from_names(layers.iter().copied()).unwrap(),
            ..Candidate::with_defaults(filesystem)
        };
        Placed { at: TextSpan { text: 0, start: 0, end: 0 }, value }
    }

    fn names(mut drafts: Vec<Placed<Candidate>>) -> (Vec<String>, bool) {
        let problems = Problems::default();
        name_all(&mut drafts, &problems);
        (drafts.into_iter().map(|draft| draft.value.name).collect(), problems.is_empty())
    }

    #[test]
    fn what_is_changed_of_a_candidate_stands_in_its_name() {
        let on_luks = |one: &mut Candidate| one.layers = Layers::from_names(["luks2"]).unwrap();
        let named = |name: &str| Candidate { name: name.to_owned(), ..Candidate::with_defaults("btrfs") };
        assert_eq!(named("btrfs").with_change(on_luks).name, "btrfs+luks2");
        assert_eq!(named("btrfs-zstd").with_change(on_luks).name, "btrfs-zstd+luks2");
        // A name that was derived keeps its order, so that what stands at its end can still be taken off.
        let model = Environment { model: Some("hdd-7200".to_owned()), ..Environment::default() };
        let modelled = named("btrfs").with_change(|one| one.under = model.clone());
        assert_eq!(modelled.name, "btrfs-on-hdd-7200");
        let both = modelled.with_change(on_luks);
        assert_eq!(both.name, "btrfs+luks2-on-hdd-7200");
        assert_eq!(both.with_change(|one| one.under.model = None).name, "btrfs+luks2");
    }

    #[test]
    fn names_say_what_differs_and_what_a_candidate_is_tried_under_in_full_where_they_collide() {
        let plain = |filesystem| candidate(filesystem, &[], &[], &[]);
        let mut scheduled = plain("ext4");
        scheduled.value.scheduler = Some("mq-deadline".to_owned());
        let under = |model: Option<&str>, kernel: Option<&str>, memory: Option<u64>| {
            let mut draft = candidate("ext4", &[], &[], &["luks2"]);
            draft.value.under = Environment {
                model: model.map(str::to_owned),
                kernel: kernel.map(Into::into),
                memory: memory.map(Bytes),
                cpu: None,
            };
            draft
        };
        let cases = [
            (plain("ext4"), "ext4"),
            (candidate("ext4", &[], &[], &["luks2"]), "ext4+luks2"),
            (candidate("ext4", &[], &[], &["luks2", "luks1"]), "ext4+luks2+luks1"),
            (
                candidate("ext3", &["-O", "^dir_index,^resize_inode"], &[], &[]),
                "ext3:^dir_index:^resize_inode",
            ),
            (
                candidate("btrfs", &["-m", "single"], &["noatime", "compress=zstd"], &[]),
                "btrfs:single:noatime:compress=zstd",
            ),
            (scheduled, "ext4@mq-deadline"),
            (candidate("xfs", &["-K"], &["logdev=/dev/sdb"], &[]), "xfs:-K:logdev=_dev_sdb"),
            (candidate("btrfs", &["-m", "single"], &[], &[]), "btrfs:-msingle"),
            (candidate("btrfs", &["-d", "single"], &[], &[]), "btrfs:-dsingle"),
            (
                under(Some("usb-stick"), Some("6.12"), Some(512 << 20)),
                "ext4+luks2-on-usb-stick-under-6.12-with-512MiB",
            ),
            (under(Some("/home/me/mine.toml"), None, None), "ext4+luks2-on-mine"),
            (under(None, Some("/a/linux"), None), "ext4+luks2-under-_a_linux"),
            (under(None, Some("/b/linux"), None), "ext4+luks2-under-_b_linux"),
        ];
        let (drafts, expected): (Vec<_>, Vec<_>) = cases.into_iter().unzip();
        assert_eq!(names(drafts), (expected.into_iter().map(str::to_owned).collect(), true));
    }

    #[test]
    fn the_same_configuration_twice_needs_a_name() {
        let twice = || vec![candidate("ext4", &[], &[], &[]), candidate("ext4", &[], &[], &[])];
        assert!(!names(twice()).1);
        let mut named = twice();
        named[1].value.name = "ext4-again".to_owned();
        assert_eq!(names(named), (vec!["ext4".to_owned(), "ext4-again".to_owned()], true));
    }

    proptest! {
        #[test]
        fn names_have_no_white_space_and_are_unique_or_told(
            options in vec(("[a-z ,/=-]{0,6}", "[a-z=]{1,4}"), 1..6),
        ) {
            let drafts = options.iter().map(|(mkfs, mount)| candidate("ext4", &[mkfs], &[mount], &[])).collect();
            let (names, told_none) = names(drafts);
            let mut unique = names.clone();
            unique.sort();
            unique.dedup();
            prop_assert_eq!(unique.len() == names.len(), told_none);
            for name in names {
                prop_assert!(!name.contains([' ', ',', '/']), "{}", name);
            }
        }
    }
}

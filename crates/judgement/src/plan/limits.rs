//! How many of each a plan may have: far beyond any study. How large a number, a size or a time may be is
//! [`fsverdict_text::limits`]'s business.

use fsverdict_text::Reason;

/// Candidates of a plan, those of its matrix included.
pub(super) const CANDIDATES: usize = 1000;
/// Entries of the list of candidates in a resolved plan: one may be entered twice.
pub(crate) const ENTERED: usize = CANDIDATES + 1;
pub(super) const PHASES: usize = 1000;
/// Candidates times phases. Each pair has numbers in every table of a report.
pub(super) const PAIRS: usize = 100_000;
pub(super) const DATASETS: usize = 1000;
/// Bytes of a name: of a candidate, phase, dataset, metric or service.
pub(crate) const NAME: usize = 1024;
/// Paths that trials read although they are hidden.
pub(super) const READS: usize = 1000;
/// Options of mkfs, and of a mount.
pub(super) const OPTIONS: usize = 1000;
/// Findings of studies, and requirements.
pub(super) const PUBLISHED: usize = 10_000;
pub(super) const REQUIREMENTS: usize = 1000;
/// Numbers in a list that describes the shape of a tree.
pub(super) const SHAPE: usize = 100_000;
pub(super) const SERVICES: usize = 20;
pub(super) const BLOCKS: u64 = 10_000;
/// Metrics of its own that a phase reads out of what its program prints.
pub(super) const OWN_METRICS: usize = 50;
/// How often a phase is repeated within a trial.
pub(super) const REPETITIONS: u64 = 100;
/// Threads that share a phase.
pub(super) const THREADS: u64 = 64;
/// Calls under way at once: what a ring of io_uring is made for.
pub(super) const DEPTH: u64 = 1024;
/// Bytes of a piece.
pub(super) const PIECE: u64 = 16 << 20;
/// Pulls of a phase, and rounds of one that churns.
pub(super) const PULLS: u64 = 100_000;

/// Refuses a list that is too long, before anything is made of it.
pub(super) fn check_length(what: &str, length: Option<usize>, most: usize) -> Result<(), Reason> {
    if length.is_some_and(|length| length <= most) {
        return Ok(());
    }
    let length = length.map_or_else(|| "too many".to_owned(), |length| length.to_string());
    Err(Reason::new(
        format!("the plan has {length} {what}, and may have {most}"),
        "try fewer at a time: what is found out about some tells which others are worth trying",
    ))
}

#[cfg(test)]
mod tests {
    use crate::plan::{Overrides, Plan, Vocabulary, read_with};
    use fsverdict_text::TextError;

    const VOCABULARY: Vocabulary<'_> = Vocabulary {
        filesystems: &["ext4", "xfs"],
        layers: &[],
        layer: |_, _| Ok(1),
        adapters: &[],
        profiles: &["mixed"],
        metrics: &["durable"],
        unit_of: |_| None,
        adds_up: |name| name == "durable",
        least_device: |_| 0,
        model: |_, _| Ok(()),
        cpu: |_| Ok(()),
    };

    const PLAN: &str = r#"
        title = "t"
        device.image = "1GiB"
        protocol = { blocks = 3, tie = 0.03, timeout = "30m" }
        goal.weights = { write = 1 }
        dataset.tree = { profile = "mixed", files = 10, directories = 2, size = "1MiB" }
        phase = [{ name = "write", operation = "tree.write", dataset = "tree" }]
        [[published]]
        finding = "f"
        source = "s"
        phase = "write"
        unit = "s"
        figures = { ext4 = 1 }
        claim = { spread = 2 }
        [matrix]
        filesystem = ["ext4"]
        mount = [""]
    "#;

    fn read(text: &str) -> Result<Plan, TextError> {
        read_with(text, "p.toml", &Overrides::default(), &VOCABULARY)
    }

    fn change(setting: &str) -> Result<Plan, TextError> {
        let overrides = Overrides { set: vec![setting.to_owned()], ..Overrides::default() };
        read_with(PLAN, "p.toml", &overrides, &VOCABULARY)
    }

    #[test]
    fn every_number_of_a_plan_is_bounded() {
        read(PLAN).unwrap();
        for wrong in [
            "goal.weights.write=1e308",
            "goal.weights.write=1e-308",
            "goal.weights.write=nan",
            "goal.weights.write=inf",
            "goal.weights.write=9223372036854775807",
            "protocol.tie=1e-300",
            "protocol.blocks=10001",
            "phase.1.repeat=101",
            "protocol.blocks={min=1,max=4294967295}",
            "protocol.timeout=1001d",
            "protocol.for=18446744073709551615ms",
            "protocol.disturbed={foreign_bytes=1e10}",
            "protocol.disturbed={drift=1e300}",
            "device.image=1025TiB",
            "dataset.tree.files=1000000001",
            "dataset.tree.directories=9223372036854775807",
            "dataset.tree.size=16000000TiB",
            "dataset.tree.compressible=1e-320",
            "published.1.figures.ext4=1e300",
            "published.1.claim={spread=1e300}",
        ] {
            let error = change(wrong).expect_err(wrong).to_string();
            assert!(error.len() < 1000, "{wrong}: {error}");
        }
        for right in ["goal.weights.write=1e9", "protocol.seed=9223372036854775807", "device.image=1024TiB"] {
            change(right).expect(right);
        }
    }

    #[test]
    fn a_number_out_of_range_is_told_its_own_range_and_a_refused_name_is_not_offered() {
        let told = |setting: &str| change(setting).expect_err(setting).to_string();
        assert!(told("protocol.blocks=2.5").contains("a whole number or a range is wanted here, not 2.5"));
        assert!(told("protocol.seed=2.5").contains("a whole number is wanted here, not 2.5"));
        assert!(told("protocol.tie=-1").contains("it must lie between 0 and 0.5, but is -1"));
        assert!(told("protocol.tie=nan").contains("between 0 and 0.5"));
        assert!(told("device.image=99PiB").contains("is the most that there is"));
        let home = PLAN.replace("dataset.tree", "dataset.home = { path = \"/etc\" }\n        dataset.tree");
        let command = "command = 'ls \"$HOM_E\"' }";
        let home = home.replace("operation = \"tree.write\", dataset = \"tree\" }", command);
        let error = read(&home).unwrap_err().to_string();
        assert!(error.contains("may not be called `home`") && error.contains("$HOM_E"), "{error}");
        assert!(!error.contains("HOME,") && !error.contains("`HOME`"), "{error}");
    }

    #[test]
    fn a_matrix_is_bounded_before_it_is_expanded() {
        let words = |count: u32| {
            let list: Vec<String> = (0..count).map(|number| format!("\"a{number}\"")).collect();
            list.join(", ")
        };
        let mount = format!("mount = [{0}]\nmkfs = [{0}]", words(1000));
        let error = read(&PLAN.replace("mount = [\"\"]", &mount)).unwrap_err();
        assert!(error.to_string().contains("1000000 candidates, and may have 1000"), "{error}");
        // The line to blame is as long as the list: only what can be looked at is shown.
        assert!(error.to_string().len() < 1000, "{error}");
        let list = format!("mount = [{}]", words(1001));
        let error = read(&PLAN.replace("mount = [\"\"]", &list)).unwrap_err();
        assert!(error.to_string().contains("may have 1000"), "{error}");
    }

    #[test]
    fn an_error_shows_the_neighbourhood_of_its_culprit() {
        let long = format!("title = \"{}\" oops", "ü".repeat(100_000));
        let error = read(&long).unwrap_err().to_string();
        assert!(error.len() < 1000 && error.contains("üüü\" oops") && error.contains("^"), "{error}");
        let error = change(&format!("{}=1", "x".repeat(100_000))).unwrap_err().to_string();
        assert!(error.len() < 2000 && error.contains("xxx"), "{error}");
    }
}

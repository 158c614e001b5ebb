//! Limits on the number of items in a plan, far beyond any real study. [`fsverdict_text::limits`] limits numbers, sizes
//! and times.

use fsverdict_text::Reason;

/// Candidates of a plan, including those of its matrix.
pub(super) const CANDIDATES: usize = 1000;
/// Entries in the list of candidates of a resolved plan: one candidate may be entered twice.
pub(crate) const ENTERED: usize = CANDIDATES + 1;
pub(super) const PHASES: usize = 1000;
/// Candidates times phases: every table of a report has numbers for each pair.
pub(super) const PAIRS: usize = 100_000;
pub(super) const DATASETS: usize = 1000;
/// Bytes in a name of a candidate, phase, dataset, metric or service.
pub(crate) const NAME: usize = 1024;
/// Paths that trials may read although the lab hides them by default.
pub(super) const READS: usize = 1000;
/// Options of mkfs, or of a mount.
pub(super) const OPTIONS: usize = 1000;
/// Findings of studies (`PUBLISHED`), and requirements of a goal (`REQUIREMENTS`).
pub(super) const PUBLISHED: usize = 10_000;
pub(super) const REQUIREMENTS: usize = 1000;
/// Numbers in a list that describes the shape of a tree.
pub(super) const SHAPE: usize = 100_000;
pub(super) const SERVICES: usize = 20;
pub(super) const BLOCKS: u64 = 10_000;
/// Metrics that a phase reads from the output of its program.
pub(super) const OWN_METRICS: usize = 50;
/// Repetitions of a phase within a trial.
pub const REPETITIONS: u64 = 1000;
/// Threads that share a phase.
pub(super) const THREADS: u64 = 64;
/// Calls in flight at once, which is the size of the io_uring ring.
pub(super) const DEPTH: u64 = 1024;
/// Bytes in a chunk.
pub(super) const PIECE: u64 = 16 << 20;
/// Pulls of a phase, or rounds of a churning phase.
pub(super) const PULLS: u64 = 100_000;

/// Rejects a list that is too long, before its elements are processed.
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
        protection: |_| crate::plan::Protection::default(),
        safeguards: |_| crate::plan::Safeguards::default(),
        adapters: &[],
        adapter_options: |_, _| Ok(()),
        profiles: &["mixed"],
        metrics: &["durable"],
        unit_of: |_| None,
        adds_up: |name| name == "durable",
        least_device: |_| 0,
        model: |_, size| Ok(size),
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
        // The error message quotes the faulty line, which is as long as the list, so the quotation must be cut.
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

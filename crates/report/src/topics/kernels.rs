//! The comparison of kernels in words: regressions and gains.

use crate::wording::{NumberScale, TextTable, decimals, fixed, signed_percent};
use fsverdict_judgement::journal::Unit;
use fsverdict_judgement::statistics::FEWEST;
use fsverdict_judgement::verdict::{ContrastOutcome, KernelChange, KernelPair, KernelPhase, MEASURES, TIME};

/// The most phases of each kind that a sentence names.
const NAMED: usize = 4;

/// `Linux 6.12 against 6.1`.
fn write_title(kernels: &KernelPair) -> String {
    format!("Linux {} against {}", kernels.kernel.display(), kernels.against.display())
}

/// How many phases have regressions and gains, and which have the largest.
pub(crate) fn write_sentence(kernels: &KernelPair) -> String {
    let timed = |outcome: ContrastOutcome| {
        let mut changes: Vec<(f64, String)> = kernels
            .phases
            .iter()
            .filter_map(|phase| {
                let time = phase.find_change(TIME).filter(|change| change.outcome == outcome)?;
                Some((time.size(), format!("{} {}", phase_title(phase), describe_change_share(time))))
            })
            .collect();
        changes.sort_by(|change, other| other.0.total_cmp(&change.0));
        let most: Vec<&str> = changes.iter().take(NAMED).map(|(_, text)| text.as_str()).collect();
        (changes.len(), most.join("; "))
    };
    let (slower, faster) = (timed(ContrastOutcome::Behind), timed(ContrastOutcome::Better));
    let tied = kernels.phases.iter().filter(|phase| phase.time_outcome() == ContrastOutcome::Tied);
    let mut otherwise: Vec<(&KernelPhase, &KernelChange)> =
        tied.filter_map(|phase| Some((phase, phase.largest_change()?))).collect();
    otherwise.sort_by(|(_, change), (_, other)| other.size().total_cmp(&change.size()));
    let describe = |(phase, change): &(&KernelPhase, &KernelChange)| {
        format!("{}: {} {}", phase_title(phase), change.measure, describe_change_share(change))
    };
    let most_otherwise: Vec<String> = otherwise.iter().take(NAMED).map(describe).collect();
    let all = kernels.phases.len();
    let of = |outcome: ContrastOutcome, changed: bool| {
        let is = |phase: &&KernelPhase| phase.time_outcome() == outcome && phase.has_changed() == changed;
        kernels.phases.iter().filter(is).count()
    };
    let untold = of(ContrastOutcome::Undecided, false) + of(ContrastOutcome::Undecided, true);
    let why = if kernels.blocks < FEWEST as usize {
        format!("nothing is below {FEWEST} blocks")
    } else {
        String::new()
    };
    let parts = [
        ("slower", slower.0, slower.1),
        ("faster", faster.0, faster.1),
        ("as fast by other work", otherwise.len(), most_otherwise.join("; ")),
        ("unchanged", of(ContrastOutcome::Tied, false), String::new()),
        ("not told", untold, why),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(_, count, _)| *count > 0)
        .map(|(word, count, most)| match most.as_str() {
            "" => format!("{count} {word}"),
            most if count > NAMED => format!("{count} {word} (most: {most})"),
            most => format!("{count} {word} ({most})"),
        })
        .collect();
    format!("{}, of {all} phases: {}.", write_title(kernels), parts.join(", "))
}

pub(crate) fn build_table(kernels: &KernelPair) -> TextTable {
    let measured = |title: &&str| kernels.phases.iter().any(|phase| phase.find_change(title).is_some());
    let measures: Vec<&str> = MEASURES.iter().map(|(title, ..)| *title).filter(measured).collect();
    let rows = kernels.phases.iter().filter(|phase| phase.has_changed()).map(|phase| {
        let cell = |title: &&str| phase.find_change(title).map_or("–".to_owned(), describe_change);
        let cells = measures.iter().map(cell);
        [phase_title(phase), describe_outcome(phase)].into_iter().chain(cells).collect()
    });
    let title = format!("{}: what changed by more than {:.0}%", write_title(kernels), kernels.tie * 100.0);
    let header: Vec<&str> =
        ["candidate, phase", "regression or gain"].into_iter().chain(measures.iter().copied()).collect();
    TextTable::new(title, &header, rows.collect())
}

/// `ext2 (usb-stick), write`.
fn phase_title(phase: &KernelPhase) -> String {
    let under = Some(phase.under.title()).filter(|under| !under.is_empty());
    let under = under.map_or(String::new(), |under| format!(" ({under})"));
    format!("{}{under}, {}", phase.candidate, phase.phase)
}

/// `regression: time, requests; gain: bytes`.
fn describe_outcome(phase: &KernelPhase) -> String {
    let kinds = [("regression", ContrastOutcome::Behind), ("gain", ContrastOutcome::Better)];
    let parts = kinds.map(|(word, outcome)| {
        let so = phase.changes.iter().filter(|change| change.outcome == outcome);
        let titles: Vec<&str> = so.map(|change| change.measure).collect();
        (!titles.is_empty()).then(|| format!("{word}: {}", titles.join(", ")))
    });
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// `+72%`.
fn describe_change_share(change: &KernelChange) -> String {
    let share = change.times() - 1.0;
    if !share.is_finite() {
        return "from none".to_owned();
    }
    signed_percent(share, usize::from(share.abs() < 0.0995))
}

/// `638 → 1096 ms, +72%`; one value where it is unchanged.
fn describe_change(change: &KernelChange) -> String {
    let scale = NumberScale::suited(change.unit, [change.before, change.after].into_iter());
    let shown = |value: f64| {
        let value = value / scale.divisor;
        let digits = if change.unit == Unit::Count { 0 } else { decimals(value, Some(0.01)).max(0) };
        fixed(value, digits)
    };
    let label = if scale.label.is_empty() { String::new() } else { format!(" {}", scale.label) };
    let both = || format!("{} → {}{label}", shown(change.before), shown(change.after));
    match change.outcome {
        ContrastOutcome::Tied => format!("{}{label}", shown(change.after)),
        ContrastOutcome::Undecided | ContrastOutcome::NotBetter => format!("{}, not told", both()),
        ContrastOutcome::Behind | ContrastOutcome::Better => {
            format!("{}, {}", both(), describe_change_share(change))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{build_table, describe_change, write_sentence};
    use crate::examples::under_kernels;
    use crate::fixtures::{Story, id, normals};
    use fsverdict_judgement::plan::Environment;
    use fsverdict_judgement::verdict::{ContrastOutcome, Judgement, KernelPair, MEASURES, judged_alone};

    #[test]
    fn what_became_slower_and_faster_under_each_next_kernel_is_named() {
        let story = under_kernels();
        let run = story.run();
        let found = KernelPair::from_judgement(&Judgement::from_run(&story.plan, &run));
        let cases = [
            (
                "Linux 6.12 against 6.1",
                "1 slower (ext2, write +72%), 1 faster (xfs, read −50%), 1 unchanged, 1 not told.",
                [
                    vec!["ext2, write", "regression: time", "1.00 → 1.72 s, +72%"],
                    vec!["xfs, read", "gain: time", "2.00 → 1.00 s, −50%"],
                ],
            ),
            (
                "Linux 6.18 against 6.12",
                "1 slower (xfs, read +100%), 1 faster (ext2, write −42%), 1 unchanged, 1 not told.",
                [
                    vec!["ext2, write", "gain: time", "1.72 → 1.00 s, −42%"],
                    vec!["xfs, read", "regression: time", "1.00 → 2.00 s, +100%"],
                ],
            ),
        ];
        assert_eq!(found.len(), cases.len());
        for (kernels, (title, told, rows)) in found.iter().zip(cases) {
            assert_eq!(write_sentence(kernels), format!("{title}, of 4 phases: {told}"));
            let table = build_table(kernels);
            assert_eq!(table.title, format!("{title}: what changed by more than 3%"));
            assert_eq!(
                table.rows,
                rows.map(|row| row.into_iter().map(str::to_owned).collect::<Vec<_>>()).to_vec()
            );
        }
    }

    /// What so many blocks of two kernels show, by the seconds of a phase and kernel in a block.
    fn told(phases: &[&str], blocks: u32, mut seconds: impl FnMut(u32, usize) -> f64) -> String {
        let names = ["ext4-under-6.1", "ext4-under-6.12"];
        let mut story = Story::new(&names, phases);
        for (candidate, kernel) in story.plan.candidates.iter_mut().zip(["6.1", "6.12"]) {
            candidate.under = Environment { kernel: Some(kernel.into()), ..Environment::default() };
        }
        for block in 1..=blocks {
            story.open_block(block, 1, &names);
            for (at, name) in names.iter().enumerate() {
                let found: Vec<_> = phases.iter().map(|phase| (*phase, seconds(block, at))).collect();
                story.trial(&id(block, name), &found);
            }
            story.close_block(block, 1, None);
        }
        story.finish();
        let run = story.run();
        write_sentence(&KernelPair::from_judgement(&Judgement::from_run(&story.plan, &run))[0])
    }

    #[test]
    fn one_block_tells_nothing_and_a_wide_interval_is_not_unchanged() {
        let title = "Linux 6.12 against 6.1, of 1 phases: 1 not told";
        let one = told(&["write"], 1, |_, kernel| [1.0, 1.11][kernel]);
        assert_eq!(one, format!("{title} (nothing is below 3 blocks)."));
        // 1.27 times, between 0.68 and 2.38.
        let wide = told(&["write"], 3, |block, kernel| [1.0, [1.0, 1.27, 1.6][block as usize - 1]][kernel]);
        assert_eq!(wide, format!("{title}."));
    }

    #[test]
    fn of_many_phases_that_are_the_same_hardly_ever_one_is_called_slower_or_faster() {
        let names: Vec<String> = (0..24).map(|at| format!("phase{at}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut normal = normals(11);
        let mut wrong = 0;
        for _ in 0..40 {
            let sentence = told(&names, 3, |_, _| libm::exp(0.05 * normal()));
            wrong += u32::from(sentence.contains("slower") || sentence.contains("faster"));
        }
        assert!(wrong <= 2, "{wrong} of 40");
    }

    #[test]
    fn more_requests_are_a_regression_and_fewer_a_gain() {
        let of = |blocks: usize, values: (f64, f64)| {
            let change = judged_alone(MEASURES[1], vec![values; blocks], 0.03).unwrap();
            (describe_change(&change), change.outcome)
        };
        for (before, after, blocks, words, outcome) in [
            (200.0, 220.0, 3, "200 → 220, +10%", ContrastOutcome::Behind),
            (200.0, 150.0, 3, "200 → 150, −25%", ContrastOutcome::Better),
            (200.0, 201.0, 3, "201", ContrastOutcome::Tied),
            // One block, or two, show nothing; nor do three signs.
            (200.0, 220.0, 1, "200 → 220, not told", ContrastOutcome::Undecided),
            (200.0, 200.0, 2, "200 → 200, not told", ContrastOutcome::Undecided),
            (0.0, 3.0, 3, "0 → 3, not told", ContrastOutcome::Undecided),
            (0.0, 3.0, 6, "0 → 3, from none", ContrastOutcome::Behind),
            (3.0, 0.0, 6, "3 → 0, −100%", ContrastOutcome::Better),
            (0.0, 0.0, 3, "0", ContrastOutcome::Tied),
        ] {
            assert_eq!(of(blocks, (after, before)), (words.to_owned(), outcome));
        }
        assert_eq!(judged_alone(MEASURES[1], Vec::new(), 0.03), None);
    }
}

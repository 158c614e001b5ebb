//! The pictures of the requests to modelled devices, from the traces in a run's folder: time across, the device up, and the
//! bytes moved in each stretch of time.

use fsverdict_disk::device::Action;
use fsverdict_disk::device::trace::Traced;
use fsverdict_folders::FolderHandle;
use fsverdict_judgement::journal::{Run, Trial};
use fsverdict_judgement::plan::Plan;
use fsverdict_lab::lab::TraceFile;
use fsverdict_report::Requests;

/// Columns and rows of a picture, before it is made smaller to fit a page.
const COLUMNS: u16 = 240;
const ROWS: u16 = 96;

/// The most records that are drawn; a longer trace has no picture. A trace of a few MB may unpack to any number of
/// requests.
const MOST_RECORDS: usize = 1 << 22;

/// A successful trial of each candidate: the first with a trace that can be read.
pub(super) fn requests_of_run(folder: &FolderHandle, plan: &Plan, run: &Run) -> Vec<Requests> {
    let pictured = |name: &str| {
        let mut trials = run.trials.iter().filter(|trial| trial.is_counted() && trial.id.candidate == name);
        trials.find_map(|trial| of_trial(folder, plan, trial))
    };
    run.candidates.iter().filter_map(|state| pictured(&state.name)).collect()
}

fn of_trial(folder: &FolderHandle, plan: &Plan, trial: &Trial) -> Option<Requests> {
    let spans = plan.phases.iter().filter_map(|phase| {
        let began = trial.value(&phase.name, "began")?;
        Some((began, began + trial.value(&phase.name, "durable")?))
    });
    let (from, to) = spans.reduce(|(from, to), (began, ended)| (began.min(from), ended.max(to)))?;
    let id = &trial.id;
    let file = TraceFile::for_trial(folder, &id.candidate, id.block, id.attempt);
    let records = file.read_requests().ok()?;
    if records.len() > MOST_RECORDS {
        return None;
    }
    let picture = summarise_requests(&records, (from * 1e9) as u64, (to * 1e9) as u64)?;
    Some(Requests { candidate: id.candidate.clone(), block: id.block, ..picture })
}

/// Summarises `records` between two nanoseconds of the simulation clock; `None` if nothing was read or written then.
fn summarise_requests(records: &[Traced], from_ns: u64, to_ns: u64) -> Option<Requests> {
    let moves = |record: &&Traced| {
        matches!(record.operation, Action::Read | Action::Write)
            && record.sectors > 0
            && (from_ns..to_ns).contains(&record.submitted_ns)
    };
    let mut inside: Vec<&Traced> = records.iter().filter(moves).collect();
    let lowest = inside.iter().map(|record| record.sector).min()?;
    let highest = inside.iter().map(|record| record.end()).max()?;
    let (width, height) = ((to_ns - from_ns).max(1), (highest - lowest).max(1));
    let column = |at_ns: u64| scaled(at_ns.saturating_sub(from_ns), width, COLUMNS);
    let row = |sector: u64| scaled(sector - lowest, height, ROWS);
    let seconds = width as f64 * 1e-9 / f64::from(COLUMNS);
    let mut cells = [Vec::new(), Vec::new()];
    let mut rates = [vec![0.0; usize::from(COLUMNS)], vec![0.0; usize::from(COLUMNS)]];
    let mut depth = vec![0.0; usize::from(COLUMNS)];
    // Adds `amount` for each nanosecond between two moments to the columns in which they lie.
    let spread = |values: &mut [f64], (begin_ns, end_ns): (u64, u64), amount: f64| {
        for column in column(begin_ns)..=column(end_ns) {
            let starts = from_ns + u64::from(column) * width / u64::from(COLUMNS);
            let ends = from_ns + (u64::from(column) + 1) * width / u64::from(COLUMNS);
            let within = end_ns.min(ends).saturating_sub(begin_ns.max(starts));
            if let Some(value) = values.get_mut(usize::from(column)) {
                *value += within as f64 * amount;
            }
        }
    };
    let completed_ns =
        |record: &Traced| record.completed_ns.unwrap_or(to_ns).min(to_ns).max(record.submitted_ns);
    inside.sort_by_key(|record| completed_ns(record));
    let mut link_free_ns = [from_ns; 2];
    for record in &inside {
        let kind = usize::from(record.operation == Action::Write);
        let (at, done_ns) = (column(record.submitted_ns), completed_ns(record));
        cells[kind].extend((row(record.sector)..=row(record.end() - 1)).map(|row| (at, row)));
        // Its bytes move after those of the request that was completed before, never faster than the link.
        let moving = (record.submitted_ns.max(link_free_ns[kind]).min(done_ns.saturating_sub(1)), done_ns);
        let per_ns = f64::from(record.sectors) * 512.0 / (moving.1 - moving.0).max(1) as f64;
        spread(&mut rates[kind], moving, per_ns / seconds);
        spread(&mut depth, (record.submitted_ns, done_ns), 1e-9 / seconds);
        link_free_ns[kind] = done_ns;
    }
    for cells in &mut cells {
        cells.sort_unstable_by_key(|(column, row)| (*row, *column));
        cells.dedup();
    }
    Some(Requests {
        from: from_ns as f64 * 1e-9,
        to: to_ns as f64 * 1e-9,
        lowest: lowest * 512,
        highest: highest * 512,
        columns: COLUMNS,
        rows: ROWS,
        cells,
        rates,
        depth,
        ..Requests::default()
    })
}

/// In which of `parts` equal parts of `whole` this lies.
fn scaled(at: u64, whole: u64, parts: u16) -> u16 {
    let part = u128::from(at) * u128::from(parts) / u128::from(whole);
    u16::try_from(part).unwrap_or(u16::MAX).min(parts - 1)
}

#[cfg(test)]
mod tests {
    use super::{COLUMNS, ROWS, summarise_requests};
    use fsverdict_disk::device::Action;
    use fsverdict_disk::device::trace::{Flags, Traced};

    fn record(at_ms: u64, operation: Action, sector: u64) -> Traced {
        let submitted_ns = at_ms * 1_000_000;
        let completed_ns = Some(submitted_ns + 1_000_000);
        Traced {
            submitted_ns,
            completed_ns,
            operation,
            sector,
            sectors: 8,
            flags: Flags::default(),
            by: None,
        }
    }

    #[test]
    fn requests_lie_where_and_when_they_were_and_none_is_lost() {
        let records: Vec<Traced> = (0..1000)
            .map(|number| record(number, Action::Write, number * 8))
            .chain([record(500, Action::Read, 0)])
            .collect();
        let found = summarise_requests(&records, 0, 1_000_000_000).unwrap();
        assert_eq!((found.lowest, found.highest), (0, 8000 * 512));
        assert_eq!(found.cells[0], [(COLUMNS / 2, 0)]);
        // A line from corner to corner.
        assert_eq!(found.cells[1].first(), Some(&(0, 0)));
        assert_eq!(found.cells[1].last(), Some(&(COLUMNS - 1, ROWS - 1)));
        let seconds = 1.0 / f64::from(COLUMNS);
        let moved: f64 = found.rates.iter().flatten().sum::<f64>() * seconds;
        assert!((moved - 1001.0 * 4096.0).abs() < 1.0, "{moved}");
        let busy: f64 = found.depth.iter().sum::<f64>() * seconds;
        assert!((busy - 1.001).abs() < 1e-6, "{busy}");
        assert_eq!(summarise_requests(&records, 2_000_000_000, 3_000_000_000), None);
    }

    #[test]
    fn requests_that_wait_for_a_link_are_not_drawn_faster_than_it() {
        // Sixteen at a time, each of 1 MiB and 2 ms on the link.
        let megabyte = |number: u64| {
            let submitted_ns = number / 16 * 32_000_000;
            let completed_ns = Some(submitted_ns + (number % 16 + 1) * 2_000_000);
            Traced { submitted_ns, completed_ns, sectors: 2048, ..record(0, Action::Write, number * 2048) }
        };
        let records: Vec<Traced> = (0..64).map(megabyte).collect();
        let found = summarise_requests(&records, 0, 128_000_000).unwrap();
        let link = f64::from(1 << 20) / 0.002;
        let peak = found.rates[1].iter().copied().fold(0.0, f64::max);
        assert!(peak < link * 1.001 && peak > link * 0.999, "{peak} beside {link}");
    }
}

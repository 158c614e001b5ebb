//! What a grid says, in the figures that a model's numbers decide.

use super::grid::STREAMED;
use crate::device::knobs::Figures;
use fsverdict_text::{GridCell, GridFindings, GridKind};

/// Every second cell is not fitted to, but compared with.
fn half(cells: &[GridCell], left_out: bool) -> impl Iterator<Item = &GridCell> {
    cells.iter().skip(usize::from(left_out)).step_by(2)
}

/// From this many times what a byte takes with one stream, units are copied for each write.
const CLIFF: f64 = 2.0;

impl Figures {
    /// Straight lines through the cells of the fitted half.
    pub(super) fn of(found: &GridFindings) -> Figures {
        let points = |kind: GridKind| -> Vec<(f64, f64)> {
            let every =
                |cell: &GridCell| cell.times_ns.iter().map(|time| (cell.at, *time)).collect::<Vec<_>>();
            half(found.of(kind), false).flat_map(every).collect()
        };
        let (command, link_byte) = line(&points(GridKind::Again));
        let (access, access_byte) = line(&points(GridKind::Anywhere));
        let mib = f64::from(1 << 20);
        // Rates, not times, change evenly from the outer edge to the inner.
        let rates: Vec<_> =
            half(found.of(GridKind::Onwards), false).map(|cell| (cell.at, mib / cell.mean_ns())).collect();
        let (first, slope) = line(&rates);
        let mean_rate = rates.iter().map(|(_, rate)| rate).sum::<f64>() / rates.len() as f64;
        let jumps = points(GridKind::Jumps);
        let (start, slope_jump) = line(&jumps);
        let squares = jumps.iter().map(|(at, time)| (time - start - slope_jump * at).powi(2)).sum::<f64>();
        // Those that waited least for the platter show the arm best.
        let least: Vec<_> =
            half(found.of(GridKind::Jumps), false).map(|cell| (cell.at, cell.low_ns())).collect();
        let (shortest, slope_jump) = line(&least);
        let (flush, scattered) = line(&points(GridKind::Scattered));
        let streams: Vec<_> = half(found.of(GridKind::Streams), false)
            .map(|cell| (cell.at, cell.mean_ns() / STREAMED as f64))
            .collect();
        let alone = streams.first().map_or(f64::NAN, |(_, byte)| *byte);
        let (fast, slow): (Vec<_>, Vec<_>) = streams.iter().partition(|(_, byte)| *byte < CLIFF * alone);
        let copied = slow.iter().map(|(_, byte)| byte).sum::<f64>() / slow.len() as f64;
        Figures {
            command,
            link_byte,
            access,
            access_byte,
            first_byte: 1.0 / first,
            last_byte: 1.0 / (first + slope),
            onward_byte: 1.0 / mean_rate,
            shortest,
            // The mean distance of two places is a third of the whole, of its root 8/15.
            mean_jump: shortest + slope_jump * 8.0 / 15.0,
            spread: (squares / jumps.len() as f64).sqrt(),
            write_command: line(&points(GridKind::WritesOn)).0,
            written_byte: line(&points(GridKind::Bursts)).1,
            flush,
            scattered,
            streams: fast.len() as f64,
            copied_byte: copied,
        }
    }
}

/// Intercept and slope of the line of least squares.
fn line(points: &[(f64, f64)]) -> (f64, f64) {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let rise: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let run: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let slope = rise / run;
    (y - slope * x, slope)
}

/// How far a model is from the device on the half it was not fitted to: the mean of the cells' errors, as shares, by kind.
pub(super) fn errors(device: &GridFindings, model: &GridFindings) -> Vec<(&'static str, f64)> {
    let error = |(kind, cells): (&GridKind, &Vec<GridCell>)| {
        let pairs = half(cells, true).zip(half(model.of(*kind), true));
        let shares: Vec<f64> =
            pairs.map(|(real, said)| (said.mean_ns() / real.mean_ns() - 1.0).abs()).collect();
        (kind.title(), shares.iter().sum::<f64>() / shares.len().max(1) as f64)
    };
    device.0.iter().map(error).collect()
}

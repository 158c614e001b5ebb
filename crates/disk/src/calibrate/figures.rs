//! Derives the figures that decide a model's numbers from a grid of measured times.

use super::grid::STREAMED;
use super::grid_cell::{GridCell, GridFindings, GridKind};
use crate::device::knobs::Figures;
use crate::device::{AccessKind, ModelErrors};

/// Every second cell, either of the fitted half or of the half that is left out for comparison.
fn half_of(cells: &[GridCell], left_out: bool) -> impl Iterator<Item = &GridCell> {
    cells.iter().skip(usize::from(left_out)).step_by(2)
}

/// A stream is slow, because units are copied for each write, if a byte takes this many times as long as with one
/// stream.
const SLOW_STREAM_RATIO: f64 = 2.0;

impl Figures {
    /// Fits straight lines through the cells of the fitted half.
    pub(super) fn from_grid(found: &GridFindings) -> Figures {
        let points = |kind: GridKind| -> Vec<(f64, f64)> {
            let points_of_cell =
                |cell: &GridCell| cell.times_ns.iter().map(|time| (cell.at, *time)).collect::<Vec<_>>();
            half_of(found.cells_of(kind), false).flat_map(points_of_cell).collect()
        };
        let (command, link_byte) = fit_line(&points(GridKind::Again));
        let (access, access_byte) = fit_line(&points(GridKind::Anywhere));
        let mib = f64::from(1 << 20);
        // Rates, not times, change linearly from the outer edge to the inner.
        let rates: Vec<_> = half_of(found.cells_of(GridKind::Onwards), false)
            .map(|cell| (cell.at, mib / cell.mean_ns()))
            .collect();
        let (first, slope) = fit_line(&rates);
        let mean_rate = rates.iter().map(|(_, rate)| rate).sum::<f64>() / rates.len() as f64;
        let jump_points = points(GridKind::Jumps);
        let (start, slope_jump) = fit_line(&jump_points);
        let squares =
            jump_points.iter().map(|(root, time)| (time - start - slope_jump * root).powi(2)).sum::<f64>();
        // Jumps that waited least for the platter show the seek time best.
        let fastest: Vec<_> =
            half_of(found.cells_of(GridKind::Jumps), false).map(|cell| (cell.at, cell.low_ns())).collect();
        let (shortest, slope_jump) = fit_line(&fastest);
        let (flush, scattered) = fit_line(&points(GridKind::Scattered));
        let streams: Vec<_> = half_of(found.cells_of(GridKind::Streams), false)
            .map(|cell| (cell.at, cell.mean_ns() / STREAMED as f64))
            .collect();
        let single_byte = streams.first().map_or(f64::NAN, |(_, byte)| *byte);
        let (fast, slow): (Vec<_>, Vec<_>) =
            streams.iter().partition(|(_, byte)| *byte < SLOW_STREAM_RATIO * single_byte);
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
            // The mean distance of two random places is a third of the whole; the mean of its square root is 8/15.
            mean_jump: shortest + slope_jump * 8.0 / 15.0,
            spread: (squares / jump_points.len() as f64).sqrt(),
            write_command: fit_line(&points(GridKind::WritesOn)).0,
            written_byte: fit_line(&points(GridKind::Bursts)).1,
            flush,
            scattered,
            streams: fast.len() as f64,
            copied_byte: copied,
        }
    }
}

/// Intercept and slope of the least-squares line.
fn fit_line(points: &[(f64, f64)]) -> (f64, f64) {
    let count = points.len() as f64;
    let mean = |coordinate: fn(&(f64, f64)) -> f64| points.iter().map(coordinate).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let rise: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let run: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let slope = rise / run;
    (y - slope * x, slope)
}

/// Errors of a model on the half of the grid that it was not fitted to: the mean of the cells' errors, as shares, by
/// kind of reads and writes.
pub(super) fn model_errors(device: &GridFindings, model: &GridFindings) -> Vec<(GridKind, f64)> {
    let error = |(kind, cells): (&GridKind, &Vec<GridCell>)| {
        let pairs = half_of(cells, true).zip(half_of(model.cells_of(*kind), true));
        let shares: Vec<f64> = pairs
            .map(|(measured, predicted)| (predicted.mean_ns() / measured.mean_ns() - 1.0).abs())
            .collect();
        (*kind, shares.iter().sum::<f64>() / shares.len().max(1) as f64)
    };
    device.0.iter().map(error).collect()
}

/// The least error that a calibrated model states: the grid has a few hundred requests, and not those of a filesystem.
const LEAST_ERROR: f64 = 0.02;

/// The errors by kind of access, as `[errors]` of a model has them: the root mean square over the kinds of reads and
/// writes that show it. Kinds of access that the grid does not show, such as queued reads, are left out.
pub(super) fn access_errors(errors: &[(GridKind, f64)]) -> Vec<(AccessKind, f64)> {
    let shown_by: [(AccessKind, &[GridKind]); 5] = [
        (AccessKind::ReadOnwards, &[GridKind::Again, GridKind::Onwards]),
        (AccessKind::ReadElsewhere, &[GridKind::Anywhere, GridKind::Jumps, GridKind::Gap, GridKind::Behind]),
        (AccessKind::WriteOnwards, &[GridKind::WritesOn]),
        (AccessKind::WriteElsewhere, &[GridKind::Scattered, GridKind::Streams]),
        (AccessKind::Flush, &[GridKind::Bursts, GridKind::Scattered]),
    ];
    let of = |(kind, grid): (AccessKind, &[GridKind])| {
        let squares: Vec<f64> =
            errors.iter().filter(|(one, _)| grid.contains(one)).map(|(_, error)| error * error).collect();
        let mean = squares.iter().sum::<f64>() / squares.len() as f64;
        mean.is_finite().then(|| (kind, mean.sqrt().clamp(LEAST_ERROR, ModelErrors::MAX)))
    };
    shown_by.into_iter().filter_map(of).collect()
}

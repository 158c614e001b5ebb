//! What a grid says, in the figures that a model's numbers decide.

use super::grid::{Cell, Found};

/// Which half of the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Half {
    Fitted,
    LeftOut,
}

impl Half {
    fn of(self, cells: &[Cell]) -> impl Iterator<Item = &Cell> {
        cells.iter().skip(usize::from(self == Half::LeftOut)).step_by(2)
    }
}

/// Straight lines through the cells of the fitted half, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Figures {
    /// What a read of nothing would take that the device still has in its memory.
    pub command: f64,
    /// What each byte takes on the way.
    pub link_byte: f64,
    /// What a read of nothing would take that lies anywhere.
    pub access: f64,
    /// What each byte of it takes.
    pub access_byte: f64,
    /// A byte where reading goes on, at the start of the device, at its end, and on the whole.
    pub first_byte: f64,
    pub last_byte: f64,
    pub onward_byte: f64,
    /// The shortest jump, and one of mean distance, where the platter hardly had to be waited for.
    pub shortest: f64,
    pub mean_jump: f64,
    /// How far reads after the same jump differ (standard deviation): a share of one rotation.
    pub spread: f64,
}

impl Figures {
    pub(super) fn of(found: &Found) -> Figures {
        let points = |cells: &[Cell]| -> Vec<(f64, f64)> {
            let every = |cell: &Cell| cell.times_ns.iter().map(|time| (cell.at, *time)).collect::<Vec<_>>();
            Half::Fitted.of(cells).flat_map(every).collect()
        };
        let (command, link_byte) = line(&points(&found.again));
        let (access, access_byte) = line(&points(&found.anywhere));
        let mib = f64::from(1 << 20);
        // Rates, not times, change evenly from the outer edge to the inner.
        let rates: Vec<_> =
            Half::Fitted.of(&found.onwards).map(|cell| (cell.at, mib / cell.mean_ns())).collect();
        let (first, slope) = line(&rates);
        let mean_rate = rates.iter().map(|(_, rate)| rate).sum::<f64>() / rates.len() as f64;
        let jumps = points(&found.jumps);
        let (start, slope_jump) = line(&jumps);
        let squares = jumps.iter().map(|(at, time)| (time - start - slope_jump * at).powi(2)).sum::<f64>();
        // Those that waited least for the platter show the arm best.
        let least: Vec<_> = Half::Fitted.of(&found.jumps).map(|cell| (cell.at, cell.low_ns())).collect();
        let (shortest, slope_jump) = line(&least);
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
pub(super) fn errors(device: &Found, model: &Found) -> [(&'static str, f64); 4] {
    let error = |kind: fn(&Found) -> &[Cell]| {
        let pairs = Half::LeftOut.of(kind(device)).zip(Half::LeftOut.of(kind(model)));
        let shares: Vec<f64> =
            pairs.map(|(real, said)| (said.mean_ns() / real.mean_ns() - 1.0).abs()).collect();
        shares.iter().sum::<f64>() / shares.len().max(1) as f64
    };
    [
        ("reads of what was just read", error(|found| &found.again)),
        ("reads anywhere", error(|found| &found.anywhere)),
        ("reads that go on", error(|found| &found.onwards)),
        ("reads after a jump", error(|found| &found.jumps)),
    ]
}

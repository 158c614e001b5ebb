//! The I/O requests of one trial on a modelled device, aggregated to a size that can be drawn.

use serde::{Deserialize, Serialize};

/// The requests of a trial, in columns of equal time and rows of equal size on the device.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Requests {
    pub candidate: String,
    /// The block of the trial.
    pub block: u32,
    /// The range of time in seconds, on the clock that `began` of the phases uses.
    pub from: f64,
    pub to: f64,
    /// The range of addresses on the device in bytes.
    pub lowest: u64,
    pub highest: u64,
    /// The numbers of columns and rows.
    pub columns: u16,
    pub rows: u16,
    /// Column and row of the cells with reads, and of those with writes; each cell once, row by row.
    pub cells: [Vec<(u16, u16)>; 2],
    /// Bytes per second that were read, and that were written, by column.
    pub rates: [Vec<f64>; 2],
    /// The mean number of requests inside the device, by column.
    pub depth: Vec<f64>,
}

impl Requests {
    /// The same picture at half the resolution.
    pub(super) fn halved(&self) -> Self {
        let halve = |cells: &Vec<(u16, u16)>| {
            let mut halved: Vec<(u16, u16)> =
                cells.iter().map(|(column, row)| (column / 2, row / 2)).collect();
            halved.sort_unstable_by_key(|(column, row)| (*row, *column));
            halved.dedup();
            halved
        };
        let pairs = |values: &Vec<f64>| {
            values.chunks(2).map(|pair| pair.iter().sum::<f64>() / pair.len() as f64).collect::<Vec<f64>>()
        };
        Self {
            columns: self.columns.div_ceil(2),
            rows: self.rows.div_ceil(2),
            cells: self.cells.each_ref().map(halve),
            rates: self.rates.each_ref().map(pairs),
            depth: pairs(&self.depth),
            ..self.clone()
        }
    }
}

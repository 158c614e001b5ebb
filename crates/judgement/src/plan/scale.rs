//! Scales the data of a plan to a share of their size, or enlarges them.

use fsverdict_text::Reason;

use super::{Dataset, DeviceSource, Plan};
use fsverdict_text::{Bytes, limits};

/// The minimum size of a big file or of a part of a directory: a few bytes are too little to time.
const SMALLEST: u64 = 4096;

/// The largest factor by which the data can grow.
const LARGEST_GROWTH: f64 = 65_536.0;

/// Shrinks every dataset to this share of its size: the files, directories and bytes of a tree, the number of files of
/// a flat directory, the size of a big file, the part taken of a real directory, and the number of calls of a trace.
///
/// The sizes of small files and command lines do not change. At least one file and one directory remain; a big file and
/// the part of a real directory keep 4 KiB, a tree one byte per file.
///
/// # Errors
/// If the factor is not above 0 and at most 1, or if a real directory is taken whole, so that its size is unknown.
pub fn scale(plan: &mut Plan, factor: f64) -> Result<(), Reason> {
    if !(factor > 0.0 && factor <= 1.0) {
        return Err(Reason::new(
            format!("the data cannot be scaled by {factor}"),
            "the factor lies above 0 and is at most 1: 0.01 takes a hundredth of the data",
        ));
    }
    plan.scale = Some(factor).filter(|factor| *factor < 1.0);
    resize(plan, factor)
}

/// Multiplies the data of a plan by a factor, and a scratch image with them.
///
/// # Errors
/// As for [`scale`], and if the factor is out of bounds.
pub(super) fn grow(plan: &mut Plan, factor: f64) -> Result<(), Reason> {
    if !(1.0..=LARGEST_GROWTH).contains(&factor) {
        return Err(Reason::plain(format!("the data cannot grow {factor} times")));
    }
    let devices = std::iter::once(&mut plan.device.source).chain(&mut plan.device.further);
    for source in devices {
        if let DeviceSource::Image(Bytes(image)) = source {
            *image = ((*image as f64 * factor) as u64).min(limits::SIZE).next_multiple_of(1 << 20);
        }
    }
    resize(plan, factor)
}

fn resize(plan: &mut Plan, factor: f64) -> Result<(), Reason> {
    for (name, dataset) in &mut plan.datasets {
        match dataset {
            Dataset::Tree(shape) => {
                shape.files = shrink(shape.files, factor, 1);
                shape.directories = shrink(shape.directories, factor, 1);
                shape.size = Bytes(shrink(shape.size.0, factor, shape.files));
            }
            Dataset::Flat { files, .. } => *files = shrink(*files, factor, 1),
            Dataset::File { size, .. } => *size = Bytes(shrink(size.0, factor, SMALLEST)),
            Dataset::Trace { .. } if factor > 1.0 => {
                return Err(Reason::new(
                    format!("the calls of the dataset `{name}` are those that were recorded, and no more"),
                    "data that can grow are generated, or a part of a folder",
                ));
            }
            Dataset::Trace { calls } => calls.shorten_to(factor),
            Dataset::Folder { size: Some(size), .. } => *size = Bytes(shrink(size.0, factor, SMALLEST)),
            Dataset::Folder { path, size: None } if factor != 1.0 => {
                return Err(Reason::new(
                    format!(
                        "the dataset `{name}` is all of {}, which has no stated size to scale",
                        path.display()
                    ),
                    format!("say how much of it to take: --set dataset.{name}.size=100MB"),
                ));
            }
            Dataset::Folder { .. } => {}
        }
    }
    Ok(())
}

/// A share of an amount, at least the floor, but never more than the original amount.
fn shrink(amount: u64, factor: f64, floor: u64) -> u64 {
    // Amounts beyond 2^53 (8 PiB) lose their last digits here, which does not affect any dataset.
    let scaled = (amount as f64 * factor).round() as u64;
    if factor > 1.0 { scaled.min(limits::SIZE) } else { scaled.max(floor).min(amount) }
}

#[cfg(test)]
mod tests {
    use super::shrink;

    #[test]
    fn shrinking_stops_at_the_floor_and_never_grows() {
        assert_eq!(shrink(5000, 0.01, 1), 50);
        assert_eq!(shrink(5000, 1.0, 1), 5000);
        assert_eq!(shrink(10, 0.001, 1), 1);
        assert_eq!(shrink(512, 0.5, 4096), 512);
    }
}

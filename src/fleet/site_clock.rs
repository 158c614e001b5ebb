//! Checks times of day in a run of several machines: those that blocks state, and this machine's own. A machine whose
//! clock lost its battery begins in 1970; its blocks would be left out after all of their work was done, and a merge on
//! it would take the blocks of all others for blocks of the future.

use jiff::Timestamp;

use super::FleetError;

/// Seconds by which the clock of a site may be ahead of this machine's.
const MOST_AHEAD: i64 = 24 * 3600;
/// 2024-01-01T00:00:00Z in seconds: no block is older.
const FIRST_RELEASE: i64 = 1_704_067_200;
/// 2100-01-01T00:00:00Z in seconds: a clock that says so was set wrong.
const LAST_RELEASE: i64 = 4_102_444_800;

/// Fails if this machine's time of day cannot be right.
pub(super) fn check_clock(now: Timestamp) -> Result<(), FleetError> {
    let plausible = (FIRST_RELEASE..LAST_RELEASE).contains(&now.as_second());
    if plausible { Ok(()) } else { Err(FleetError::Clock(now)) }
}

/// Why a record cannot have been written at the time that it states.
pub(super) fn find_impossible_date(at: Timestamp, now: Timestamp) -> Option<String> {
    if at.as_second() < FIRST_RELEASE {
        return Some(format!("it says that it was done at {at}, before there was any fsverdict"));
    }
    (at.as_second() > now.as_second() + MOST_AHEAD)
        .then(|| format!("it says that it was done at {at}, which is still to come"))
}

#[cfg(test)]
mod tests {
    use super::{check_clock, find_impossible_date};
    use fsverdict_text::Hinted;
    use jiff::Timestamp;

    #[test]
    fn a_clock_that_is_wrong_stops_a_block_and_a_merge_before_they_begin() {
        let time = |text: &str| text.parse::<Timestamp>().unwrap();
        for wrong in
            ["1970-01-01T00:00:07Z", "2023-12-31T23:59:59Z", "2100-01-01T00:00:00Z", "9999-01-01T00:00:00Z"]
        {
            let error = check_clock(time(wrong)).unwrap_err().reason().to_string();
            assert!(error.contains(&wrong[..10]) && error.contains("hint: `date`"), "{error}");
        }
        let now = time("2026-11-28T12:00:00Z");
        check_clock(now).unwrap();
        for (at, possible) in [
            ("2026-11-28T11:00:00Z", true),
            ("2026-11-29T11:59:59Z", true),
            ("2026-11-29T12:00:01Z", false),
            ("1970-01-01T00:10:00Z", false),
            ("9999-12-30T00:00:00Z", false),
        ] {
            assert_eq!(find_impossible_date(time(at), now).is_none(), possible, "{at}");
        }
    }
}

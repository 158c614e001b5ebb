//! Bugs that tests plant, one at a time, to check that they would be detected. Outside of tests there are none.

/// A bug in the calculation of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bug {
    /// The platter is always at the requested angle.
    RotationForgotten,
    /// The arm takes as long for a short seek as for the longest.
    SeeksAlwaysFull,
    /// A flush is answered when the last write has left the cache, and not when it has reached the medium.
    FlushesLie,
    /// Cleaning chooses the block with the most valid units.
    WorstVictim,
    /// Pages that cleaning moves are not counted, and take no time.
    MovesAreFree,
    /// One unit more can be open than the model says.
    UnitTooMany,
    /// The persistent cache never fills.
    CacheNeverFull,
    /// The cache is written back in random order, not by the sweep.
    NoElevator,
    NoReadAhead,
    /// Tracks begin at the same angle everywhere.
    SkewForgotten,
    /// A switch of heads takes no time.
    HeadSwitchForgotten,
    /// A read slightly ahead of the head is positioned for, instead of awaited.
    StartsAgain,
    /// Sectors that pass under the head on arrival are not read.
    ArrivalForgotten,
    TurnForgotten,
    /// Written data cannot be read from the buffer.
    WrittenDropped,
    /// The firmware takes the same time over every read.
    OverheadsAlike,
    /// The arm starts when the data has arrived.
    ArmWaits,
    /// A read is sent from its first sector on, without waiting for its share in the buffer.
    FillForgotten,
    /// Read-ahead does not stop at a track or cylinder.
    TracksForgotten,
    /// Read-ahead is never cut short.
    NeverBreaksOff,
    /// The drive reads ahead after the first read, too.
    ReadsAheadAtOnce,
    /// Every write is accepted in the same time, wherever it goes.
    TakenAlike,
    /// A page stays open for the next write, without a cache, too.
    PageKeptOpen,
    /// Fast cells always have room for one more page.
    FastCellsNeverFull,
    /// Folding does not use idle time.
    NeverFoldsIdle,
    /// Every segment of the mapping table is at hand.
    MapAlwaysCached,
    /// A page is read from its cells again for each read of a part of it.
    RegisterForgotten,
    /// Flash is read only as far as was asked.
    NeverReadsAhead,
    /// The flash is as large as the part of the drive that is used.
    DriveForgotten,
}

#[cfg(test)]
thread_local! {
    static PLANTED: std::cell::Cell<Option<Bug>> = const { std::cell::Cell::new(None) };
}

/// Whether the running test has planted this bug.
#[inline]
pub(super) fn is_planted(bug: Bug) -> bool {
    #[cfg(test)]
    return PLANTED.get() == Some(bug);
    #[cfg(not(test))]
    {
        let _ = bug;
        false
    }
}

/// Runs a function with a planted bug.
#[cfg(test)]
pub(super) fn with_planted<T>(bug: Option<Bug>, act: impl FnOnce() -> T) -> T {
    PLANTED.set(bug);
    let result = act();
    PLANTED.set(None);
    result
}

//! Bugs the tests plant, one at a time, to see that they would be caught. Outside tests there are none.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bug {
    /// The platter is always where it is wanted.
    RotationForgotten,
    /// The arm moves as far for a short way as for a long one.
    SeeksAlwaysFull,
    /// A flush is answered when the last write has left the cache, and not when it has arrived.
    FlushesLie,
    /// Cleaning takes the block that has most to move.
    WorstVictim,
    /// Pages that cleaning moves are not counted, nor is their time.
    MovesAreFree,
    /// One unit more is open than the model says.
    UnitTooMany,
    /// The persistent cache never fills.
    CacheNeverFull,
    /// The cache is written back from anywhere, not by the sweep.
    NoElevator,
    NoReadAhead,
    /// Tracks begin at the same angle everywhere.
    SkewForgotten,
    /// Another head is on its track at once.
    HeadSwitchForgotten,
    /// A read a little ahead of the head is positioned for.
    StartsAgain,
    /// What passes under the head on arrival is not read.
    ArrivalForgotten,
    TurnForgotten,
    /// What was written cannot be read from the buffer.
    WrittenDropped,
    /// Whatever a read finds, the firmware takes as long over it.
    OverheadsAlike,
    /// The arm starts when the data have come.
    ArmWaits,
    /// A read is sent from its first sector on.
    FillForgotten,
    /// Reading ahead does not stop at a track or cylinder.
    TracksForgotten,
    /// Reading ahead is never given up.
    NeverBreaksOff,
    /// A write is taken as fast wherever it goes.
    TakenAlike,
    /// Without a cache, too, a page is kept open for the next write.
    PageKeptOpen,
}

#[cfg(test)]
thread_local! {
    static PLANTED: std::cell::Cell<Option<Bug>> = const { std::cell::Cell::new(None) };
}

#[inline]
pub(super) fn planted(bug: Bug) -> bool {
    #[cfg(test)]
    return PLANTED.get() == Some(bug);
    #[cfg(not(test))]
    {
        let _ = bug;
        false
    }
}

#[cfg(test)]
pub(super) fn with<T>(bug: Option<Bug>, act: impl FnOnce() -> T) -> T {
    PLANTED.set(bug);
    let result = act();
    PLANTED.set(None);
    result
}

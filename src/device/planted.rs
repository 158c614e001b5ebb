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

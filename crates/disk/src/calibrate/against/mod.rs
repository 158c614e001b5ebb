//! Compares a model with measurements made elsewhere: replays a trace of requests and their times on the model.

mod fit;
mod foreign;
mod measured;
mod rate;
mod replay;
mod score;
#[cfg(test)]
mod tests;

pub use fit::{Fitted, first_fifth, fit_model};
pub use foreign::{
    BLANK_LINES, LineAccount, LineFault, LineOutcome, RecordForm, RequestAccount, RequestRecord, TraceFault,
    UnreadRequests, read_record, read_recording,
};
pub use measured::{Durability, Measured};
pub use replay::{ReplayError, replay_trace};
pub use score::TraceScore;

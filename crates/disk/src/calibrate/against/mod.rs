//! Compares a model with measurements made elsewhere: replays a trace of requests and their times on the model.

mod fit;
mod foreign;
mod measured;
mod replay;
mod score;
#[cfg(test)]
mod tests;

pub use fit::{Fitted, first_fifth, fit};
pub use foreign::{RecordForm, RequestAccount, RequestRecord, TraceFault, UnreadRequests, read, read_record};
pub use measured::{Durability, Measured};
pub use replay::{ReplayError, replay};
pub use score::TraceScore;

//! What an operation did.

use fsverdict_judgement::journal::Histogram;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// Bytes read or written, as the user of the operation would count them.
    pub logical_bytes: u64,
    /// Bytes that what writes has read besides.
    pub read_besides: u64,
    pub files: u64,
    /// Bytes of all that such operations left on the filesystem, where that is what they are about.
    pub held: Option<u64>,
    pub histograms: Vec<Histogram>,
    /// The call whose latency stands for the operation.
    pub main_call: &'static str,
}

//! Objects of the JSON forms, whose keys stand beside their values.

use serde::{Serialize, Serializer};

/// An object with its fields in order.
#[derive(Default)]
pub(crate) struct JsonObject<'a>(Vec<(&'static str, Box<dyn erased_serde::Serialize + 'a>)>);

impl<'a> JsonObject<'a> {
    /// An object that begins with this field.
    pub(crate) fn new(key: &'static str, value: impl Serialize + 'a) -> Self {
        Self::default().with(key, value)
    }

    pub(crate) fn with(mut self, key: &'static str, value: impl Serialize + 'a) -> Self {
        self.0.push((key, Box::new(value)));
        self
    }

    /// Adds a field that is left out where it has no value.
    pub(crate) fn with_some(self, key: &'static str, value: Option<impl Serialize + 'a>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// Adds a list that is left out where it is empty.
    pub(crate) fn with_list<Row: Serialize>(self, key: &'static str, rows: &'a [Row]) -> Self {
        self.with_some(key, Some(rows).filter(|rows| !rows.is_empty()))
    }

    /// Adds the fields of a struct, and those of another object behind them.
    pub(crate) fn around(self, body: impl Serialize + 'a, rest: Self) -> impl Serialize + 'a {
        Joined { first: self, body, rest }
    }
}

impl Serialize for JsonObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// The fields of three values as those of one object.
#[derive(Serialize)]
struct Joined<'a, Body: Serialize> {
    #[serde(flatten)]
    first: JsonObject<'a>,
    #[serde(flatten)]
    body: Body,
    #[serde(flatten)]
    rest: JsonObject<'a>,
}

//! Deserializes lists and maps of bounded length, for `#[serde(deserialize_with = "…")]`. Entries are counted while they are
//! read, so that a few kilobytes from an untrusted source cannot fill memory before they are checked.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

struct ListVisitor<T, const MOST: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for ListVisitor<T, MOST> {
    type Value = Vec<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a list of {MOST} at most")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            if list.len() == MOST {
                return Err(A::Error::custom(format_args!("a list has more than {MOST} entries")));
            }
            list.push(item);
        }
        Ok(list)
    }
}

/// Reads a list of at most `MOST` entries.
///
/// # Errors
/// Fails as soon as the list has more entries.
pub fn bounded_list<'de, D: Deserializer<'de>, T: Deserialize<'de>, const MOST: usize>(
    from: D,
) -> Result<Vec<T>, D::Error> {
    from.deserialize_seq(ListVisitor::<T, MOST>(PhantomData))
}

struct MapVisitor<T, const MOST: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for MapVisitor<T, MOST> {
    type Value = BTreeMap<String, T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a map of {MOST} entries at most")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<BTreeMap<String, T>, A::Error> {
        let mut map = BTreeMap::new();
        while let Some((name, value)) = entries.next_entry::<String, T>()? {
            if map.len() == MOST {
                return Err(A::Error::custom(format_args!("a map has more than {MOST} entries")));
            }
            if let Some(_earlier) = map.insert(name, value) {
                return Err(A::Error::custom("a map has the same name twice"));
            }
        }
        Ok(map)
    }
}

/// Reads a map of at most `MOST` entries with different names.
///
/// # Errors
/// Fails as soon as the map has more entries, or a name occurs twice.
pub fn bounded_map<'de, D: Deserializer<'de>, T: Deserialize<'de>, const MOST: usize>(
    from: D,
) -> Result<BTreeMap<String, T>, D::Error> {
    from.deserialize_map(MapVisitor::<T, MOST>(PhantomData))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{bounded_list, bounded_map};
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    struct Bounded {
        #[serde(default, deserialize_with = "bounded_list::<_, _, 2>")]
        list: Vec<u32>,
        #[serde(default, deserialize_with = "bounded_map::<_, _, 2>")]
        map: BTreeMap<String, u32>,
    }

    #[test]
    fn lists_and_maps_are_counted_while_they_are_read() {
        let read = |text: &str| serde_json::from_str::<Bounded>(text).map_err(|error| error.to_string());
        let good = read(r#"{"list":[1,2],"map":{"a":1,"b":2}}"#).unwrap();
        assert_eq!((good.list.len(), good.map.len()), (2, 2));
        assert!(read("{}").unwrap().map.is_empty());
        for (text, words) in [
            // What follows the entry that is too many is not even looked at.
            (r#"{"list":[1,2,3,"#, "more than 2 entries"),
            (r#"{"map":{"a":1,"b":2,"c":3,"#, "more than 2 entries"),
            (r#"{"map":{"a":1,"a":2}}"#, "same name twice"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}

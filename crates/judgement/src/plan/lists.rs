//! Removes duplicates from lists and groups values by key, in the order of first occurrence.

/// The distinct values, in the order of first occurrence.
pub fn once_each<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut groups = Vec::new();
    for one in all {
        if !groups.contains(&one) {
            groups.push(one);
        }
    }
    groups
}

/// The values of each key, with the keys in the order of first occurrence.
pub fn group_by_key<K: PartialEq, T>(all: impl IntoIterator<Item = (K, T)>) -> Vec<(K, Vec<T>)> {
    let mut found: Vec<(K, Vec<T>)> = Vec::new();
    for (key, one) in all {
        match found.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => known.push(one),
            None => found.push((key, vec![one])),
        }
    }
    found
}

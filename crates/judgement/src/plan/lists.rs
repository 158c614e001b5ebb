//! Lists without repetitions, in the order in which things come first.

/// Each of these once, in the order in which they come first.
pub fn once_each<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for one in all {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

/// What comes under each key, the keys in the order in which they come first.
pub fn grouped<K: PartialEq, T>(all: impl IntoIterator<Item = (K, T)>) -> Vec<(K, Vec<T>)> {
    let mut found: Vec<(K, Vec<T>)> = Vec::new();
    for (key, one) in all {
        match found.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => known.push(one),
            None => found.push((key, vec![one])),
        }
    }
    found
}

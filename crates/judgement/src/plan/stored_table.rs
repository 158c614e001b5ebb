//! Tables of a plan as they are stored in JSON and read from TOML: the structure, its form in JSON, and the rows of its keys
//! follow from one row per field.

/// Declares a structure with public fields, and with `keys NAME` the rows of its keys (see [`key`](super::keys::key)). The
/// forms of a field:
/// - `name: T`: always stored.
/// - `name?: T`: an `Option<T>`, left out of the JSON if there is none.
/// - `name!: T`: left out of the JSON if it has its default.
/// - `name in "bounded_list::<…>": T`: the same, and read with this function.
///
/// A field that is also a key of the plan has its row behind the type: `=> (TYPE, READER …)`. A key that is no field, or has
/// another name or place than its field, is a row `key(NAME, TYPE, …)` by itself.
macro_rules! stored_table {
    ($(#[$attribute:meta])* $visibility:vis struct $name:ident $(, keys $keys:ident)? { $($fields:tt)* }) => {
        stored_table!(@ [$(#[$attribute])* $visibility struct $name] [$($keys $name)?] [] [] $($fields)*);
    };
    (@ [$($head:tt)*] [] [$($field:tt)*] []) => {
        #[derive(serde::Serialize, serde::Deserialize)]
        $($head)* { $($field)* }
    };
    (@ $head:tt [$keys:ident $name:ident] $field:tt [$($key:tt)*]) => {
        stored_table!(@ $head [] $field []);

        pub(super) const $keys: &[crate::plan::keys::Key<$name>] = &[$($key)*];
    };
    (@ $head:tt $keys:tt $field:tt [$($key:tt)*] key($($row:tt)*), $($rest:tt)*) => {
        stored_table!(@ $head $keys $field [$($key)* crate::plan::keys::key!($($row)*),] $($rest)*);
    };
    (@ $head:tt $keys:tt [$($field:tt)*] [$($key:tt)*]
        $(#[$attribute:meta])* $name:ident : $kind:ty $(=> ($words:literal, $($row:tt)*))?, $($rest:tt)*) => {
        stored_table!(@ $head $keys
            [$($field)* $(#[$attribute])* pub $name: $kind,]
            [$($key)* $(crate::plan::keys::key!(stringify!($name), $words, $name, $($row)*),)?] $($rest)*);
    };
    // The other forms are the first with an attribute.
    (@ $head:tt $keys:tt $field:tt $key:tt
        $(#[$attribute:meta])* $name:ident ?: $kind:ty $(=> ($($row:tt)*))?, $($rest:tt)*) => {
        stored_table!(@ $head $keys $field $key $(#[$attribute])*
            #[serde(default, skip_serializing_if = "Option::is_none")]
            $name: Option<$kind> $(=> ($($row)*))?, $($rest)*);
    };
    (@ $head:tt $keys:tt $field:tt $key:tt
        $(#[$attribute:meta])* $name:ident !: $kind:ty $(=> ($($row:tt)*))?, $($rest:tt)*) => {
        stored_table!(@ $head $keys $field $key $(#[$attribute])*
            #[serde(default, skip_serializing_if = "crate::plan::is_default")]
            $name: $kind $(=> ($($row)*))?, $($rest)*);
    };
    (@ $head:tt $keys:tt $field:tt $key:tt
        $(#[$attribute:meta])* $name:ident in $read:literal: $kind:ty $(=> ($($row:tt)*))?, $($rest:tt)*) => {
        stored_table!(@ $head $keys $field $key $(#[$attribute])*
            #[serde(default, skip_serializing_if = "crate::plan::is_default", deserialize_with = $read)]
            $name: $kind $(=> ($($row)*))?, $($rest)*);
    };
}
pub(crate) use stored_table;

//! Maps of a script's, put together.

use rhai::{Dynamic, Identifier, Map};

/// The entries as a map. To collect them would sort them first, by a sort of its own for each kind of iterator.
pub(crate) fn map_of(entries: impl IntoIterator<Item = (Identifier, Dynamic)>) -> Map {
    let mut map = Map::new();
    for (name, value) in entries {
        put(&mut map, name, value);
    }
    map
}

#[inline(never)]
fn put(map: &mut Map, name: Identifier, value: Dynamic) {
    map.insert(name, value);
}

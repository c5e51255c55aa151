//! Sorts items of any type by sorting their indexes, and collects sets and maps without sorting.
//!
//! Size: the standard library's sorts are compiled anew for each item type, which costs several kilobytes each time.
//! The functions here share one sort of `usize` indexes.
//!
//! Use them for lists that are sorted rarely. Where sorting dominates the run time, use `slice::sort_unstable`.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Sorts `items` by `compare`. The sort is stable.
pub fn sort_by<T>(items: &mut [T], mut compare: impl FnMut(&T, &T) -> Ordering) {
    let mut places: Vec<usize> = (0..items.len()).collect();
    sort_places(&mut places, &mut |a, b| compare(&items[a], &items[b]));
    // `places[to]` is the index at which the item for index `to` still is. Each cycle of this permutation is followed
    // once.
    for start in 0..places.len() {
        let mut to = start;
        loop {
            let from = std::mem::replace(&mut places[to], to);
            if from == start {
                break;
            }
            items.swap(to, from);
            to = from;
        }
    }
}

/// Sorts `items` by the key that `key` returns. The sort is stable.
pub fn sort_by_key<T, K: Ord>(items: &mut [T], mut key: impl FnMut(&T) -> K) {
    sort_by(items, |a, b| key(a).cmp(&key(b)));
}

/// Collects `items` into a set, inserting them one by one.
///
/// `collect` would sort the items first, with a sort compiled for their type.
pub fn set_of<T: Ord>(items: impl IntoIterator<Item = T>) -> BTreeSet<T> {
    let mut set = BTreeSet::new();
    set.extend(items);
    set
}

/// Collects `items` into a map, inserting them one by one. The last of several values for a key stays.
///
/// `collect` and `from` would sort the items first, with a sort compiled for their type.
pub fn map_of<K: Ord, V>(items: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    map.extend(items);
    map
}

#[inline(never)]
fn sort_places(places: &mut [usize], compare: &mut dyn FnMut(usize, usize) -> Ordering) {
    places.sort_by(|&a, &b| compare(a, b));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::test_support::cases;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn sorts_like_the_standard_library() {
        proptest!(cases(2_000), |(keys in prop::collection::vec(0..8_u8, 0..40))| {
            let mut items: Vec<(u8, String)> =
                keys.iter().enumerate().map(|(index, &key)| (key, index.to_string())).collect();
            let mut expected = items.clone();
            expected.sort_by_key(|item| item.0);
            sort_by_key(&mut items, |item| item.0);
            prop_assert_eq!(&items, &expected);
            expected.sort_by(|a, b| b.1.cmp(&a.1));
            sort_by(&mut items, |a, b| b.1.cmp(&a.1));
            prop_assert_eq!(&items, &expected);
        });
    }
}

//! A small map from a provider's index to a part of the response.
//!
//! A response has a few parts open at a time, and they open in order. A sorted vector is enough, and adds less code to
//! a page than a tree map for each kind of part.

/// Values by index, in the order of the indexes.
pub(crate) struct IndexMap<T>(Vec<(u64, T)>);

impl<T> Default for IndexMap<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> IndexMap<T> {
    fn place(&self, index: u64) -> Result<usize, usize> {
        self.0.binary_search_by_key(&index, |(index, _)| *index)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn get(&self, index: u64) -> Option<&T> {
        self.place(index).ok().map(|at| &self.0[at].1)
    }

    pub(crate) fn get_mut(&mut self, index: u64) -> Option<&mut T> {
        self.place(index).ok().map(|at| &mut self.0[at].1)
    }

    /// Returns the value at `index`. Inserts the result of `make` if there is none.
    pub(crate) fn get_or_insert_with(&mut self, index: u64, make: impl FnOnce() -> T) -> &mut T {
        let at = self.place(index).unwrap_or_else(|at| {
            self.0.insert(at, (index, make()));
            at
        });
        &mut self.0[at].1
    }

    /// Inserts `value` and returns the previous value.
    pub(crate) fn insert(&mut self, index: u64, value: T) -> Option<T> {
        match self.place(index) {
            Ok(at) => Some(std::mem::replace(&mut self.0[at].1, value)),
            Err(at) => {
                self.0.insert(at, (index, value));
                None
            }
        }
    }

    pub(crate) fn remove(&mut self, index: u64) -> Option<T> {
        self.place(index).ok().map(|at| self.0.remove(at).1)
    }

    /// Removes and returns all values, in order.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = T> + use<T> {
        std::mem::take(&mut self.0).into_iter().map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn the_map_keeps_one_value_per_index_in_order() {
        let mut kept = IndexMap::default();
        assert!(kept.is_empty());
        assert_eq!(kept.insert(7, "g"), None);
        assert_eq!(kept.insert(2, "b"), None);
        assert_eq!(kept.insert(7, "G"), Some("g"));
        assert_eq!(*kept.get_or_insert_with(5, || "e"), "e");
        assert_eq!(*kept.get_or_insert_with(5, || "other"), "e");
        assert_eq!((kept.get(2), kept.get(3)), (Some(&"b"), None));
        assert_eq!(kept.get_mut(7), Some(&mut "G"));
        assert_eq!((kept.remove(2), kept.remove(2)), (Some("b"), None));
        assert_eq!(kept.insert(1, "a"), None);
        assert_eq!(kept.take_all().collect::<Vec<_>>(), ["a", "e", "G"]);
        assert!(kept.is_empty());
    }
}

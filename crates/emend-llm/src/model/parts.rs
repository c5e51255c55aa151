//! The parts of a message, shared between copies of the message.
//!
//! A session sends its whole history with every model call. Copies of a message share their parts, so adding a message
//! to a request costs the same whatever its length, and one pointer comparison finds the messages that were encoded last
//! time.

use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::content::ContentPart;
use crate::runtime::Shared;

/// A list of parts that is cheap to copy. It is used as a `Vec`; changing one copy leaves the others unchanged.
#[derive(Clone, Debug, Default)]
pub struct Parts(Shared<Vec<ContentPart>>);

impl Deref for Parts {
    type Target = Vec<ContentPart>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Parts {
    fn deref_mut(&mut self) -> &mut Self::Target {
        Shared::make_mut(&mut self.0)
    }
}

impl PartialEq for Parts {
    fn eq(&self, other: &Self) -> bool {
        Shared::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl<const N: usize> PartialEq<[ContentPart; N]> for Parts {
    fn eq(&self, other: &[ContentPart; N]) -> bool {
        *self.0 == *other
    }
}

impl From<Vec<ContentPart>> for Parts {
    fn from(parts: Vec<ContentPart>) -> Self {
        Self(Shared::new(parts))
    }
}

impl From<Parts> for Vec<ContentPart> {
    fn from(parts: Parts) -> Self {
        Shared::unwrap_or_clone(parts.0)
    }
}

impl FromIterator<ContentPart> for Parts {
    fn from_iter<I: IntoIterator<Item = ContentPart>>(parts: I) -> Self {
        Self::from(Vec::from_iter(parts))
    }
}

impl IntoIterator for Parts {
    type Item = ContentPart;
    type IntoIter = std::vec::IntoIter<ContentPart>;

    fn into_iter(self) -> Self::IntoIter {
        Vec::from(self).into_iter()
    }
}

impl<'a> IntoIterator for &'a Parts {
    type Item = &'a ContentPart;
    type IntoIter = std::slice::Iter<'a, ContentPart>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a mut Parts {
    type Item = &'a mut ContentPart;
    type IntoIter = std::slice::IterMut<'a, ContentPart>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl Serialize for Parts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Parts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn text(text: &str) -> ContentPart {
        ContentPart::Text { text: text.to_owned() }
    }

    #[test]
    fn copies_share_until_one_changes() {
        let first = Parts::from(vec![text("a")]);
        let mut second = first.clone();
        assert!(Shared::ptr_eq(&first.0, &second.0));
        second.push(text("b"));
        assert_eq!((&*first, &*second), (&vec![text("a")], &vec![text("a"), text("b")]));
        assert_ne!(first, second);
        assert_eq!(first, Parts::from(vec![text("a")]), "equal without being the same");
    }

    #[test]
    fn parts_serialise_as_an_array() {
        let parts = Parts::from(vec![text("a")]);
        let json = serde_json::to_string(&parts).unwrap();
        assert_eq!(json, r#"[{"kind":"text","text":"a"}]"#);
        assert_eq!(serde_json::from_str::<Parts>(&json).unwrap(), parts);
    }
}

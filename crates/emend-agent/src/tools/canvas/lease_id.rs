//! The id of a lease as callers see it: number and epoch, so that a late use tells expiry from preemption.

use std::fmt;

use crate::canvas::Ticket;

/// A ticket as text: `lease_NUMBER_EPOCH`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LeaseId(pub(super) Ticket);

impl LeaseId {
    /// Parses the text of a lease id.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (lease_id, epoch) = text.trim().strip_prefix("lease_")?.split_once('_')?;
        Some(Self(Ticket { lease_id: lease_id.parse().ok()?, epoch: epoch.parse().ok()? }))
    }
}

impl fmt::Display for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lease_{}_{}", self.0.lease_id, self.0.epoch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn ids_are_read_back_and_others_are_refused() {
        let id = LeaseId(Ticket { lease_id: 3, epoch: 14 });
        assert_eq!(id.to_string(), "lease_3_14");
        assert_eq!(LeaseId::parse("lease_3_14"), Some(id));
        for text in ["", "3", "lease_3", "lease_x_1", "lease_1_-1"] {
            assert_eq!(LeaseId::parse(text), None, "{text}");
        }
    }
}

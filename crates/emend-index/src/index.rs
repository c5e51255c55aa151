//! The index of a project as searches see it: a base segment, and a delta with the files that changed since.

use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::bits::Bits;
use crate::plan::Plan;
use crate::segment::{Document, Kind, ScopeBytes, Segment};
use crate::stamp::Stamp;

/// The name of a project, so that no index serves another project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope(pub(crate) ScopeBytes);

impl Scope {
    /// Returns the scope of the project with this root, or another unique name.
    #[must_use]
    pub fn of(root: &str) -> Self {
        Self(half_hash(root.as_bytes()))
    }
}

/// Returns the first half of the SHA-256 of `content`.
pub(crate) fn half_hash(content: &[u8]) -> [u8; 16] {
    let hash = Sha256::digest(content);
    hash.first_chunk().copied().unwrap_or_default()
}

/// An index, as of its last update. It does not change; an update creates another one.
#[derive(Debug)]
pub struct Index {
    pub(crate) base: Segment,
    pub(crate) delta: Option<Segment>,
    /// The documents of the base that the delta replaces.
    replaced: Bits,
}

/// The documents that meet a [`Plan`], for [`Index::verdict`].
#[derive(Debug)]
pub struct Selection {
    /// `None` if all documents do.
    base: Option<Bits>,
    delta: Option<Bits>,
}

/// The answer of an index about a file of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The index does not know it, or not well enough: it has to be searched.
    Unknown,
    /// It can have a match and has to be searched.
    MayMatch,
    /// It has no match, provided that it still has this stamp.
    SkipIfStill(Stamp),
}

/// The place of the postings of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Base(u32),
    Delta(u32),
    /// It has none.
    None,
}

/// A document as base and delta together describe it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    pub(crate) document: Document,
    pub(crate) origin: Origin,
    /// Whether the delta does not mention it.
    pub(crate) is_as_in_base: bool,
}

pub(crate) fn base_path(directory: &Path) -> PathBuf {
    directory.join("base")
}

pub(crate) fn delta_path(directory: &Path) -> PathBuf {
    directory.join("delta")
}

impl Index {
    /// Opens the index in `directory`; `None` unless there is one for `scope`. Damaged files count as absent.
    #[must_use]
    pub fn open(directory: &Path, scope: &Scope) -> Option<Self> {
        let base = Segment::open(&base_path(directory), &scope.0).filter(|base| base.header().parent == 0)?;
        let delta = Segment::open(&delta_path(directory), &scope.0);
        let delta = delta.filter(|delta| delta.header().parent == base.header().id);
        let mut replaced = Bits::none(base.n_documents() as usize);
        if let Some(delta) = &delta {
            let paths = (0..delta.n_documents()).filter_map(|number| delta.path(number));
            paths.filter_map(|path| base.find(path)).for_each(|number| replaced.insert(number));
        }
        Some(Self { base, delta, replaced })
    }

    /// Returns the documents that meet `plan`.
    #[must_use]
    pub fn select(&self, plan: &Plan) -> Selection {
        let delta = self.delta.as_ref().and_then(|delta| plan.select(delta));
        Selection { base: plan.select(&self.base), delta }
    }

    /// Returns whether the file at `path` has to be searched.
    #[must_use]
    pub fn verdict(&self, selection: &Selection, path: &str) -> Verdict {
        let Some(known) = self.known(path) else { return Verdict::Unknown };
        let is_selected = |selected: &Option<Bits>, number| selected.as_ref().is_none_or(|bits| bits.contains(number));
        let may_match = match (known.document.kind, known.origin) {
            (Kind::Text, Origin::Base(number)) => is_selected(&selection.base, number),
            (Kind::Text, Origin::Delta(number)) => is_selected(&selection.delta, number),
            (Kind::Binary, _) => false,
            (Kind::Racy, _) => return Verdict::Unknown,
            _ => true,
        };
        if may_match { Verdict::MayMatch } else { Verdict::SkipIfStill(known.document.stamp) }
    }

    /// Calls `take` with the path of each file, in no order.
    pub fn each_path(&self, mut take: impl FnMut(&str)) {
        let of_base = (0..self.base.n_documents()).filter(|number| !self.replaced.contains(*number));
        of_base.filter_map(|number| self.base.path(number)).for_each(&mut take);
        if let Some(delta) = &self.delta {
            let is_present = |number: &u32| delta.document(*number).is_some_and(|found| found.kind != Kind::Removed);
            (0..delta.n_documents()).filter(is_present).filter_map(|number| delta.path(number)).for_each(&mut take);
        }
    }

    /// Returns the number of files.
    #[must_use]
    pub fn n_files(&self) -> usize {
        let mut n_files = 0;
        self.each_path(|_| n_files += 1);
        n_files
    }

    /// Returns the size of the index on the disk in bytes.
    #[must_use]
    pub fn n_bytes(&self) -> u64 {
        self.base.n_bytes() + self.delta.as_ref().map_or(0, Segment::n_bytes)
    }

    /// Returns the document at `path`, unless it is unknown or was removed.
    pub(crate) fn known(&self, path: &str) -> Option<Known> {
        let in_delta = self.delta.as_ref().and_then(|delta| Some((delta, delta.find(path)?)));
        let Some((delta, number)) = in_delta else {
            let number = self.base.find(path)?;
            let document = self.base.document(number)?;
            return Some(Known { document, origin: Origin::Base(number), is_as_in_base: true });
        };
        let document = delta.document(number)?;
        let known = |document, origin| Some(Known { document, origin, is_as_in_base: false });
        match document.kind {
            Kind::Removed => None,
            Kind::AsBefore => {
                let number = self.base.find(path)?;
                let kind = self.base.document(number)?.kind;
                known(Document { kind, ..document }, Origin::Base(number))
            }
            Kind::Text => known(document, Origin::Delta(number)),
            Kind::Binary | Kind::Unknown | Kind::Racy => known(document, Origin::None),
        }
    }
}

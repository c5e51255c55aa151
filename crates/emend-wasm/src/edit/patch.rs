//! Patches in all five formats: parsing them, describing them, and applying them to texts in memory.

use std::cell::RefCell;
use std::collections::BTreeMap;

use emend_edit::patch::line_edits::{LineEdit, LineEdits};
use emend_edit::patch::unified::{self, DiffMode};
use emend_edit::patch::v4a;
use emend_edit::patch::{Change, Diagnostic, EditError, FileEdit, Operation, Patch, PlannedFile, plan_patch};
use emend_edit::{ContentHash, ErrorCode};
use js_sys::Array;
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::*;

use super::parsed_patch::ParsedEdit;
use super::report::hunk_numbers;
use super::{input_slots, json, read};
use crate::failure::Failure;

/// A parsed patch.
#[wasm_bindgen]
pub struct PatchHandle {
    pub(super) patch: Patch,
    pub(super) diagnostics: Vec<Diagnostic>,
    texts: RefCell<BTreeMap<usize, String>>,
}

impl PatchHandle {
    fn new(patch: Patch, diagnostics: Vec<Diagnostic>) -> Self {
        Self { patch, diagnostics, texts: RefCell::default() }
    }
}

// The text formats by the numbers that JavaScript uses.
const V4A: u32 = 0;
const UNIFIED: u32 = 1;
const LOCATED: u32 = 2;

/// Parses a patch in a slot; `format` is one of the numbers above.
pub(super) fn parse_text(
    format: u32,
    slot: usize,
    bytes: u32,
    path: Option<&str>,
) -> Result<(Patch, Vec<Diagnostic>), JsValue> {
    let text = &input_slots::take(slot, bytes)?;
    if format == V4A {
        return v4a::parse(text).map_err(|error| refused(&error, error.code()));
    }
    let mode = if format == LOCATED { DiffMode::Located } else { DiffMode::Strict };
    let parsed = match path {
        Some(path) => unified::parse_for(path, text, mode),
        None => unified::parse(text, mode),
    };
    parsed.map_err(|error| refused(&error, error.code()))
}

/// Line edits, read from JSON text.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LinesInput {
    edits: Vec<LineEdit>,
    expected_hash: Option<ContentHash>,
}

#[derive(Serialize)]
struct Described<'a> {
    edits: Vec<ParsedEdit<'a>>,
    paths: Vec<&'a str>,
    diagnostics: &'a [Diagnostic],
}

#[wasm_bindgen]
impl PatchHandle {
    /// Parses the v4a patch in slot 0. With `overwrite`, creating and moving may replace files.
    pub fn v4a(bytes: u32, overwrite: bool) -> Result<PatchHandle, JsValue> {
        let (patch, diagnostics) = parse_text(V4A, 0, bytes, None)?;
        Ok(Self::new(Patch { overwrite, ..patch }, diagnostics))
    }

    /// Parses the unified diff in slot 0, for the files in its headers or for the file at `path`.
    ///
    /// With `locate`, hunks are found by their text instead of their line numbers.
    pub fn unified(bytes: u32, locate: bool, path: Option<String>) -> Result<PatchHandle, JsValue> {
        let format = if locate { LOCATED } else { UNIFIED };
        let (patch, diagnostics) = parse_text(format, 0, bytes, path.as_deref())?;
        Ok(Self::new(patch, diagnostics))
    }

    /// Creates a patch that replaces one text by another.
    pub fn replace(path: String, old: String, new: String, replace_all: bool) -> PatchHandle {
        Self::new(Patch::of(path, Change::Replace { old, new, replace_all }), Vec::new())
    }

    /// Creates a patch from line edits in JSON text.
    pub fn lines(path: String, edits: &str) -> Result<PatchHandle, JsValue> {
        let LinesInput { edits, expected_hash } = read("the line edits are", edits)?;
        let change = Change::Lines(LineEdits { edits, expected_hash });
        Ok(Self::new(Patch::of(path, change), Vec::new()))
    }

    /// Returns the edits of the patch, its paths and its diagnostics, as JSON text.
    pub fn describe(&self) -> Result<String, JsValue> {
        json(&Described {
            edits: self.patch.edits.iter().map(ParsedEdit::from).collect(),
            paths: self.patch.paths(),
            diagnostics: &self.diagnostics,
        })
    }

    /// Returns every path in the patch.
    pub fn paths(&self) -> Vec<String> {
        self.patch.paths().into_iter().map(str::to_owned).collect()
    }

    /// Takes the text of one file from slot 0. `index` is the position of its path in [`PatchHandle::paths`]. Files without
    /// a text do not exist.
    #[wasm_bindgen(js_name = bringText)]
    pub fn bring_text(&self, index: u32, bytes: u32) -> Result<(), JsValue> {
        let text = input_slots::take(0, bytes)?;
        self.texts.borrow_mut().insert(index as usize, text);
        Ok(())
    }

    /// Applies the patch to the texts that [`PatchHandle::bring_text`] took.
    ///
    /// Returns an array: JSON text with the outcome for each file; numbers; then the new text of each file (`undefined` if
    /// it is deleted). The numbers are, for each file, the number of its hunks and six numbers for each hunk as
    /// [`hunk_numbers`] returns.
    pub fn plan(&self) -> Result<Array, JsValue> {
        let paths = self.patch.paths();
        let mut texts = self.texts.take();
        let planned = plan_patch(&self.patch, &mut |path| -> Result<_, EditError> {
            let index = paths.iter().position(|known| *known == path);
            Ok(index.and_then(|index| texts.remove(&index)))
        })
        .map_err(|error| Failure::of_edit(&error).into_js())?;
        let files: Vec<PlannedEntry<'_>> = planned.iter().map(PlannedEntry::from).collect();
        let numbers = planned
            .iter()
            .flat_map(|file| std::iter::once(file.hunks.len() as u32).chain(file.hunks.iter().flat_map(hunk_numbers)));
        let numbers = js_sys::Uint32Array::from(numbers.collect::<Vec<u32>>().as_slice());
        let out = Array::of2(&json(&Planned { files, diagnostics: &self.diagnostics })?.into(), &numbers);
        for file in planned {
            out.push(&file.after.map_or(JsValue::UNDEFINED, JsValue::from));
        }
        Ok(out)
    }
}

#[derive(Serialize)]
struct Planned<'a> {
    files: Vec<PlannedEntry<'a>>,
    diagnostics: &'a [Diagnostic],
}

/// A planned file without its texts and hunks: the caller has the old text, and hunks cross as numbers.
#[derive(Serialize)]
struct PlannedEntry<'a> {
    path: &'a str,
    operation: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'a str>,
    overwrites: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    executable: Option<bool>,
    diagnostics: &'a [Diagnostic],
}

impl<'a> From<&'a PlannedFile> for PlannedEntry<'a> {
    fn from(file: &'a PlannedFile) -> Self {
        let (operation, from) = match &file.operation {
            Operation::Create => ("create", None),
            Operation::Update => ("update", None),
            Operation::Delete => ("delete", None),
            Operation::Rename { from } => ("rename", Some(from.as_str())),
        };
        Self {
            path: &file.path,
            operation,
            from,
            overwrites: file.overwritten.is_some(),
            executable: file.executable,
            diagnostics: &file.diagnostics,
        }
    }
}

fn refused(error: &impl ToString, code: ErrorCode) -> JsValue {
    Failure::new(code.into(), error.to_string()).into_js()
}

/// A parser of a v4a patch that is still arriving.
#[wasm_bindgen]
#[derive(Default)]
pub struct PatchReader {
    parser: RefCell<v4a::Parser>,
}

#[wasm_bindgen]
impl PatchReader {
    /// Creates a parser without input.
    #[wasm_bindgen(constructor)]
    pub fn new() -> PatchReader {
        Self::default()
    }

    /// Parses the next piece. Returns the number of edits that have begun.
    pub fn push(&self, text: &str) -> Result<u32, JsValue> {
        let mut parser = self.parser.borrow_mut();
        parser.push(text).map_err(|error| refused(&error, error.code()))?;
        Ok(parser.edits().len() as u32)
    }

    /// Returns the edits from index `from` on. The last edit may still grow.
    #[wasm_bindgen(js_name = editsFrom)]
    pub fn edits_from(&self, from: u32) -> Result<String, JsValue> {
        let parser = self.parser.borrow();
        let edits: &[FileEdit] = parser.edits().get(from as usize..).unwrap_or_default();
        json(&edits.iter().map(ParsedEdit::from).collect::<Vec<_>>())
    }

    /// Takes the patch out if it is complete, and resets the parser.
    pub fn finish(&self) -> Result<PatchHandle, JsValue> {
        let parser = self.parser.take();
        let (patch, diagnostics) = parser.finish().map_err(|error| refused(&error, error.code()))?;
        Ok(PatchHandle::new(patch, diagnostics))
    }
}

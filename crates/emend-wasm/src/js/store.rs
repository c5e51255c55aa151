//! A store written in JavaScript: sessions saved in IndexedDB, in files, or on a server of the host.

use emend_agent::error_code::Code;
use emend_agent::store::{Store, StoreError, check_name};
use emend_agent::tool::ToolError;
use emend_llm::BoxFuture;
use js_sys::Function;
use wasm_bindgen::prelude::*;

use super::call::thrown_error;
use crate::host::promise;

/// A store behind one function. It gets an operation, a document's name and lines. It returns a promise of a text or of
/// `undefined`, which rejects with JSON text that has `message` and `code`.
pub(crate) struct JsStore {
    call: Function,
}

impl JsStore {
    pub(crate) fn new(call: Function) -> Self {
        Self { call }
    }

    fn ask<'a>(
        &'a self,
        operation: &'static str,
        name: &'a str,
        lines: &'a str,
    ) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        Box::pin(async move {
            if !name.is_empty() || operation != "names" {
                check_name(name)?;
            }
            let failed = |thrown: JsValue| {
                let (name, ToolError { code, message: reason, .. }) = (name.to_owned(), thrown_error(&thrown));
                if code == Code::Conflict { StoreError::Conflict { name } } else { StoreError::Io { name, reason } }
            };
            let promised = self.call.call3(&JsValue::UNDEFINED, &operation.into(), &name.into(), &lines.into());
            let result = promise(&promised.map_err(failed)?).await.map_err(failed)?;
            Ok(result.as_string())
        })
    }
}

impl Store for JsStore {
    fn append<'a>(&'a self, name: &'a str, lines: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.ask("append", name, lines).await.map(drop) })
    }

    fn load<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        self.ask("load", name, "")
    }

    fn names(&self) -> BoxFuture<'_, Result<Vec<String>, StoreError>> {
        Box::pin(async move {
            let names = self.ask("names", "", "").await?.unwrap_or_default();
            // Names contain no whitespace. The JavaScript side has sorted them.
            Ok(names.split_whitespace().map(str::to_owned).collect())
        })
    }

    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move { Ok(self.ask("remove", name, "").await?.is_some()) })
    }
}

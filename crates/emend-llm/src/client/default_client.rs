//! The generator that the program's parts share unless they are given one.
//!
//! Natively one for the process, in a browser one for the thread, where nothing else exists. The crate reads no
//! environment, so a host sets it, or says how to make it when it is first needed.

use crate::error::{ErrorKind, LlmError};
use crate::generate::Generator;

#[cfg(not(target_family = "wasm"))]
mod slot {
    use std::sync::RwLock;

    use super::Generator;

    static DEFAULT: RwLock<Option<Generator>> = RwLock::new(None);

    pub(super) fn get() -> Option<Generator> {
        DEFAULT.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    pub(super) fn set(generator: Option<Generator>) {
        *DEFAULT.write().unwrap_or_else(std::sync::PoisonError::into_inner) = generator;
    }
}

#[cfg(target_family = "wasm")]
mod slot {
    use std::cell::RefCell;

    use super::Generator;

    thread_local! {
        static DEFAULT: RefCell<Option<Generator>> = const { RefCell::new(None) };
    }

    pub(super) fn get() -> Option<Generator> {
        DEFAULT.with_borrow(Clone::clone)
    }

    pub(super) fn set(generator: Option<Generator>) {
        DEFAULT.set(generator);
    }
}

/// Sets the default, or takes it away.
pub fn set_default_client(generator: Option<Generator>) {
    slot::set(generator);
}

/// Returns the default.
///
/// # Errors
///
/// [`ErrorKind::Configuration`] if none was set.
pub fn default_client() -> Result<Generator, LlmError> {
    slot::get().ok_or_else(|| {
        LlmError::new(ErrorKind::Configuration, "no default client is set: call `set_default_client` first")
    })
}

/// Returns the default, made by `make` and set if there is none yet.
pub fn default_client_or_set(make: impl FnOnce() -> Generator) -> Generator {
    slot::get().unwrap_or_else(|| {
        let generator = make();
        slot::set(Some(generator.clone()));
        generator
    })
}

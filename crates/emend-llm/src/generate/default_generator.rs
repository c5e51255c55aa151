//! The default generator, shared by the parts of a program that have none of their own.
//!
//! Natively there is one per process, in a browser one per thread. The crate reads no environment variables, so the
//! host sets the default or passes a function that makes it on first use.

use super::generator::Generator;
use crate::error::{ErrorKind, LlmError};

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

/// Sets the default; `None` removes it.
pub fn set_default_client(generator: Option<Generator>) {
    slot::set(generator);
}

/// Returns the default generator.
///
/// # Errors
///
/// [`ErrorKind::Configuration`] if no default was set.
pub fn default_client() -> Result<Generator, LlmError> {
    slot::get().ok_or_else(|| {
        LlmError::new(ErrorKind::Configuration, "no default client is set: call `set_default_client` first")
    })
}

/// Returns the default generator. Without one it sets the one that `make` returns.
pub fn default_client_or_set(make: impl FnOnce() -> Generator) -> Generator {
    slot::get().unwrap_or_else(|| {
        let generator = make();
        slot::set(Some(generator.clone()));
        generator
    })
}

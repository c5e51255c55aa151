//! Randomness from the host's `crypto`, which every browser and Node have.

use emend_llm::Random;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = crypto, js_name = getRandomValues)]
    fn get_random_values(bytes: &mut [u8]);
}

/// Draws from `crypto.getRandomValues`.
#[derive(Clone, Copy, Debug, Default)]
pub struct JsRandom;

impl Random for JsRandom {
    fn next_u64(&self) -> u64 {
        let mut bytes = [0; 8];
        get_random_values(&mut bytes);
        u64::from_le_bytes(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn draws_differ_and_use_every_byte() {
        let draws: Vec<u64> = (0..64).map(|_| JsRandom.next_u64()).collect();
        let seen = draws.iter().fold(0, |seen, draw| seen | draw);
        assert_eq!(seen, u64::MAX, "some bits were never set");
        assert!(draws.windows(2).all(|pair| pair[0] != pair[1]));
    }
}

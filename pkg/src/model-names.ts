/**
 * The names of the fields of a model's catalogue entry.
 *
 * Generated from docs/agent-types.json by `UPDATE_EXPECT=1 node --test pkg/test/agent-types.test.mjs`; do not edit this
 * file by hand.
 */

import type { Names } from "./case.js";

export const MODEL_INFO: Names = {
  cache_read_cost_per_million: 0,
  cache_write_cost_per_million: 0,
  context_window: 0,
  display_name: 0,
  input_cost_per_million: 0,
  input_modalities: 0,
  knowledge_cutoff: 0,
  max_output: 0,
  output_cost_per_million: 0,
  supports_reasoning: 0,
  supports_sampling: 0,
  supports_tools: 0,
  supports_vision: 0,
};

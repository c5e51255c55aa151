/**
 * The names of the core's fields that JavaScript gets and gives in camelCase. Names inside of values that belong to the
 * user, such as the arguments and results of tools, are in no table.
 *
 * Generated from docs/agent-types.json by `UPDATE_EXPECT=1 node --test pkg/test/agent-types.test.mjs`; do not edit this
 * file by hand.
 */

import type { Names } from "./case.js";

export const USAGE: Names = {
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  input_tokens: 0,
  output_tokens: 0,
  reasoning_tokens: 0,
  total_tokens: 0,
};
const ERROR_INFO: Names = {
  data: {
    latest_file_state: { file_path: 0 },
    revision_id: 0,
    exit_code: 0,
    timed_out: 0,
    duration_ms: 0,
    bytes_dropped: 0,
    left_out: 0,
    at_once: 0,
    not_undoable: 0,
  },
};
const MEDIA: Names = { file_name: 0, media_type: 0 };
const TOOL_CALL: Names = { provider_data: 0, raw_arguments: 0 };
export const TOOL_RESULT: Names = { image: MEDIA, is_error: 0, tool_call_id: 0 };
const CONTENT_PART: Names = {
  file_name: 0,
  media_type: 0,
  provider_data: 0,
  raw_arguments: 0,
  image: MEDIA,
  is_error: 0,
  tool_call_id: 0,
};
export const MESSAGE: Names = { content: CONTENT_PART };
export const TURN: Names = { at_ms: 0, message: MESSAGE, response_id: 0, usage: USAGE };
export const COMPACTION: Names = { tokens_after: 0, tokens_before: 0 };
export const REQUEST: Names = {
  max_tokens: 0,
  messages: MESSAGE,
  provider_options: 0,
  reasoning_effort: 0,
  response_format: { json_schema: 0 },
  stop_sequences: 0,
  tool_choice: { tool_name: 0 },
  top_p: 0,
};
const RESPONSE: Names = {
  finish_reason: 0,
  message: MESSAGE,
  rate_limit: { requests_limit: 0, requests_remaining: 0, reset_at: 0, tokens_limit: 0, tokens_remaining: 0 },
  usage: USAGE,
};
export const STREAM_EVENT: Names = { text_id: 0, tool_call: TOOL_CALL, response: RESPONSE };
export const APPROVAL_REQUEST: Names = { call_id: 0, tool_name: 0 };

/** Of an event, except for its data. */
export const EVENT: Names = { session_id: 0 };

/** Of the data of events, by kind. */
export const EVENT_DATA: Readonly<Record<string, Names>> = {
  PROCESSING_END: { usage: USAGE },
  TOOL_CALL_START: APPROVAL_REQUEST,
  APPROVAL_REQUESTED: APPROVAL_REQUEST,
  APPROVAL_RESOLVED: { call_id: 0 },
  TOOL_CALL_OUTPUT_DELTA: { call_id: 0 },
  TOOL_CALL_END: { call_id: 0, duration_ms: 0, error_info: ERROR_INFO, output_cut: 0, output_ref: 0, tool_name: 0 },
  FILE_CHANGED: { pending_hunks: 0 },
  SUBAGENT_START: { agent_id: 0, working_dir: 0 },
  SUBAGENT_EVENT: { agent_id: 0 },
  SUBAGENT_END: { agent_id: 0, turns_used: 0 },
  TURN_LIMIT: { total_turns: 0 },
  ERROR: ERROR_INFO,
};

/** The public names of `emend/elements`: custom elements without a framework. Importing it registers nothing. */

export { defineAgent, EmendAgent } from "./elements/agent.js";
export { AgentElement } from "./elements/agent-element.js";
export { defineReview, EmendReview, type EmendReviewEvents } from "./elements/review.js";

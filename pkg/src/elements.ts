/** The public names of `emend/elements`: custom elements without a framework. Importing it registers nothing. */

export { defineReview, EmendReview, type EmendReviewEvents } from "./elements/review.js";

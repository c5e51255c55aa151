/**
 * Lets only style sheets of the page's files and of the editor apply.
 *
 * The editor adds `<style>` elements. They have a number that is random in each load, which a policy names; a page that is
 * served as files cannot have it in its HTML. Style attributes stay possible, because they cannot load anything.
 */

export const styleNonce = crypto.randomUUID();

/** Adds the policy. Vite's development server adds styles itself, so only the built page has it. */
export function restrictStyles(): void {
  if (import.meta.env.DEV) return;
  const policy = document.createElement("meta");
  policy.httpEquiv = "Content-Security-Policy";
  policy.content = `style-src-elem 'self' 'nonce-${styleNonce}'`;
  document.head.append(policy);
}

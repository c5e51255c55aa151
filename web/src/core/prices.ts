/** The prices of models, from the catalogue of the package's client. It is loaded when a price is first needed. */

/** Returns the cost of tokens in US dollars at list price, or null if the model is not in the catalogue. */
export async function costOf(model: string, input: number, output: number): Promise<number | null> {
  const { load } = await import("emend/llm");
  const found = (await load()).modelInfo(model);
  if (found?.input_cost_per_million === undefined || found.output_cost_per_million === undefined) return null;
  return (input * found.input_cost_per_million + output * found.output_cost_per_million) / 1_000_000;
}

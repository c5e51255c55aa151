/** The prices of models, from the catalogue of the package's client. It is loaded when a price is first needed. */

/** Returns the cost of tokens in US dollars at list price, or null if the model is not in the catalogue. */
export async function costOf(model: string, input: number, output: number): Promise<number | null> {
  const { load } = await import("emend/llm");
  const found = (await load()).modelInfo(model);
  if (found?.inputCostPerMillion === undefined || found.outputCostPerMillion === undefined) return null;
  return (input * found.inputCostPerMillion + output * found.outputCostPerMillion) / 1_000_000;
}

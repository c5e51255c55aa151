/** What the catalogue of the package's client says about models. It is loaded when that is first needed. */

async function infoOf(model: string) {
  const { load } = await import("emend/llm");
  return (await load()).modelInfo(model);
}

/** Returns the cost of tokens in US dollars at list price, or null if the model is not in the catalogue. */
export async function costOf(model: string, input: number, output: number): Promise<number | null> {
  const found = await infoOf(model);
  if (found?.inputCostPerMillion === undefined || found.outputCostPerMillion === undefined) return null;
  return (input * found.inputCostPerMillion + output * found.outputCostPerMillion) / 1_000_000;
}

/** Returns whether a model takes pictures, or null if it is not in the catalogue. */
export async function takesPictures(model: string): Promise<boolean | null> {
  return (await infoOf(model))?.supportsVision ?? null;
}

/** Example tasks: for the offline model, for the sample project or for any project. */

export function examples(sample: boolean, offline: boolean): readonly string[] {
  if (!offline) {
    return sample
      ? ["Explain how a loan is made", "Add a function that renews a loan", "Rewrite the rules of lending as a table"]
      : ["Explain what this project does", "Find and fix typos in the documentation"];
  }
  return sample
    ? [
        "rename loanDays to seasonDays",
        'replace "packets" with "bags"',
        "add a table of contents to README.md",
        'sort the list under "Suppliers" in docs/handbook.md',
        'add a heading "Watering" with "Every second day." to docs/handbook.md after "Lending"',
      ]
    : ["rename OLD to NEW", 'replace "OLD" with "NEW"', "add a table of contents to README.md"];
}

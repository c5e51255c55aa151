/** Amounts of money. */

/** Returns an amount in US dollars with as many digits as it needs: "$0.0042", "$1.37". */
export function dollars(amount: number): string {
  return `$${amount < 0.1 ? amount.toFixed(4) : amount.toFixed(2)}`;
}

import { addVariety, packetsLeft, takePackets } from "./catalog";

/** One growing season, from sowing to drying the seeds. */
export const loanDays = 210;

const openLoansMax = 3;

export interface Loan {
  readonly member: string;
  readonly variety: string;
  readonly packets: number;
  readonly due: Date;
}

const open: Loan[] = [];

/** Lends packets to a member until the end of the season. */
export function lend(member: string, variety: string, packets: number, today: Date): Loan {
  const theirs = open.filter((loan) => loan.member === member);
  if (theirs.length >= openLoansMax) throw new Error(`${member} has ${openLoansMax} open loans`);
  if (packetsLeft(variety) < packets) throw new Error(`not enough packets of ${variety}`);
  takePackets(variety, packets);
  const due = new Date(today);
  due.setDate(due.getDate() + loanDays);
  const loan: Loan = { member, variety, packets, due };
  open.push(loan);
  return loan;
}

/** Takes packets back; more may come back than went out. */
export function giveBack(loan: Loan, species: string, packets: number): void {
  open.splice(open.indexOf(loan), 1);
  addVariety(loan.variety, species, packets);
}

/** The loans that should have come back before today. */
export function overdue(today: Date): Loan[] {
  return open.filter((loan) => loan.due < today);
}

/** A variety and what is on the shelf. */
export interface Variety {
  readonly name: string;
  readonly species: string;
  /** Packets on the shelf now. */
  packets: number;
}

const shelf = new Map<string, Variety>();

/** Adds a variety, or packets to one that is there. */
export function addVariety(name: string, species: string, packets: number): Variety {
  const known = shelf.get(name);
  if (known) {
    known.packets += packets;
    return known;
  }
  const variety: Variety = { name, species, packets };
  shelf.set(name, variety);
  return variety;
}

/** How many packets of a variety can be lent; 0 for one nobody knows. */
export function packetsLeft(name: string): number {
  return shelf.get(name)?.packets ?? 0;
}

/** Takes packets off the shelf; refuses to go below zero. */
export function takePackets(name: string, count: number): void {
  const variety = shelf.get(name);
  if (!variety || variety.packets < count) {
    throw new Error(`only ${packetsLeft(name)} packets of ${name} left`);
  }
  variety.packets -= count;
}

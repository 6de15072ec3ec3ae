// Values of the address that choose rows, and those that say how they are listed.

export const CHOOSING = [
  "fate", "step", "reason", "changed", "stat", "low", "high", "value", "file", "q", "in", "field", "how", "what", "with", "a", "b",
];
export const LISTED = ["sort", "order"];

// The values of a list that an address has.
export function listValues(values) {
  return Object.fromEntries([...CHOOSING, ...LISTED].map((key) => [key, values[key]]));
}

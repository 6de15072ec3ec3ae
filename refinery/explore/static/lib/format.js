// Figures for people.

const WHOLE = new Intl.NumberFormat("en-US");
const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"];

// A count; integers beyond 2^53 come as texts.
export function count(value) {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value.replace(/\B(?=(\d{3})+$)/g, ",") : WHOLE.format(value);
}

// A size in decimal units, as the terminal has it.
export function bytes(value) {
  let size = Number(value), unit = 0;
  while (size >= 1000 && unit < UNITS.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${unit ? size.toFixed(1) : size} ${UNITS[unit]}`;
}

// A part of a whole.
export function percent(part, whole) {
  if (!whole) return "";
  const share = (100 * part) / whole;
  return `${share !== 0 && Math.abs(share) < 0.1 ? share.toPrecision(1) : share.toFixed(1)} %`;
}

// A measured value: at most six digits, without an exponent where it can be read.
export function value(number) {
  if (number === null || number === undefined) return "NULL";
  if (typeof number !== "number") return String(number);
  return Number.isInteger(number) ? count(number) : String(Number(number.toPrecision(6)));
}

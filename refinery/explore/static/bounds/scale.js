// The scale of a histogram: from values to places between 0 and 1 and back, and the positions of a slider.

const POSITIONS = 1000;

export class Scale {
  // axis: {low, high, log} of the server. whole: values are whole numbers.
  constructor(axis, whole) {
    this.axis = axis;
    this.whole = whole;
    this.start = this.#own(axis.low);
    this.span = this.#own(axis.high) - this.start;
    const first = Math.ceil(axis.low), last = Math.floor(axis.high);
    // A slider of few whole numbers stops at each of them.
    this.each = whole && !axis.log && last - first <= 4 * POSITIONS;
    this.first = first;
    this.positions = this.each ? last - first : POSITIONS;
  }

  #own(value) {
    return this.axis.log ? Math.log(value) : value;
  }

  // Where a value lies: 0 is the left end, 1 the right end; beyond them for values that are not on the axis.
  place(value) {
    if (this.axis.log && value <= 0) return 0;
    return (this.#own(value) - this.start) / this.span;
  }

  // Where the line of a bound lies: beside the bin of a whole number that it keeps.
  line(value, side) {
    return this.place(value) + this.#beside(side);
  }

  // The bound at the place of a line.
  fromLine(place, side) {
    return this.value(place - this.#beside(side));
  }

  #beside(side) {
    return this.each && side ? (side === "low" ? -0.5 : 0.5) / this.span : 0;
  }

  // The value at a place, rounded to what the axis can show.
  value(place) {
    const own = this.start + Math.min(1, Math.max(0, place)) * this.span;
    return this.rounded(this.axis.log ? Math.exp(own) : own);
  }

  rounded(value) {
    if (this.whole) return Math.round(value);
    if (this.axis.log) return Number(value.toPrecision(4));
    const digits = Math.max(0, Math.ceil(-Math.log10(this.span / POSITIONS)));
    return Number(value.toFixed(Math.min(digits, 12)));
  }

  position(value) {
    if (this.each) return Math.min(this.positions, Math.max(0, Math.round(value) - this.first));
    return Math.round(Math.min(1, Math.max(0, this.place(value))) * this.positions);
  }

  fromPosition(position) {
    return this.each ? this.first + position : this.value(position / this.positions);
  }
}

// A histogram by fate with lines for bounds, which the mouse drags.

import { el, fill, svg } from "../lib/dom.js";
import { count, value as shown } from "../lib/format.js";

const HEIGHT = 170, TOP = 14, BOTTOM = 22, SIDE = 8;

// statistic: of the server. bounds: [{name, side, value, before}], of which `value` changes; move(name, value) is called
// while a line is dragged. Returns {node, draw}: draw() shows the bounds as they are.
export function chart(statistic, scale, bounds, reversed, move) {
  const drawing = svg("svg", { class: "histogram", height: HEIGHT, role: "img", "aria-label": label(statistic) });
  const node = el("div", { class: "chart" }, drawing);
  let width = 0;
  const draw = () => {
    if (width) fill(drawing, picture(statistic, scale, bounds, reversed(), width, move, drawing));
  };
  new ResizeObserver(() => {
    if (Math.round(node.clientWidth) === width) return;
    width = Math.round(node.clientWidth);
    drawing.setAttribute("width", width);
    draw();
  }).observe(node);
  return { node, draw };
}

function label(statistic) {
  return `Histogram of ${statistic.column}, from ${shown(statistic.axis.low)} to ${shown(statistic.axis.high)}`;
}

function picture(statistic, scale, bounds, reversed, width, move, drawing) {
  const x = (place) => SIDE + Math.min(1, Math.max(0, place)) * (width - 2 * SIDE);
  const parts = [...bars(statistic, scale, x), ...shades(bounds, scale, reversed, x)];
  parts.push(...axis(statistic, width));
  for (const bound of bounds) {
    if (bound.before !== null) parts.push(line(x(scale.line(bound.before, bound.side)), "before"));
    if (bound.value !== null) parts.push(handle(bound, x(scale.line(bound.value, bound.side)), dragging(bound, scale, width, move, drawing)));
  }
  return parts;
}

function bars(statistic, scale, x) {
  const { kept, later, here } = statistic.counts, edges = statistic.axis.edges;
  const most = Math.max(1, ...kept.map((number, at) => number + later[at] + here[at]));
  const room = HEIGHT - TOP - BOTTOM;
  return kept.flatMap((_, at) => {
    const left = x(scale.place(edges[at])), right = x(scale.place(edges[at + 1]));
    const range = `${shown(Number(edges[at].toPrecision(4)))} to ${shown(Number(edges[at + 1].toPrecision(4)))}`;
    let base = HEIGHT - BOTTOM;
    return [["kept", kept[at], "kept"], ["later", later[at], "removed by another step"], ["here", here[at], "removed by this filter"]]
      .filter(([, number]) => number > 0)
      .map(([name, number, words]) => {
        const height = Math.max(1.5, (room * number) / most);
        base -= height;
        return svg("rect", { class: name, x: left, y: base, width: Math.max(1, right - left - 1), height },
          svg("title", {}, `${range}: ${count(number)} ${words}`));
      });
  });
}

// The parts of the axis that the bounds remove.
function shades(bounds, scale, reversed, x) {
  const low = bounds.find((bound) => bound.side === "low")?.value ?? null;
  const high = bounds.find((bound) => bound.side === "high")?.value ?? null;
  const from = low === null ? 0 : scale.line(low, "low"), to = high === null ? 1 : scale.line(high, "high");
  const ranges = reversed ? [[from, to]] : [[0, from], [to, 1]];
  return ranges.filter(([start, end]) => x(end) > x(start)).map(([start, end]) =>
    svg("rect", { class: "shade", x: x(start), y: TOP, width: x(end) - x(start), height: HEIGHT - TOP - BOTTOM }));
}

function axis(statistic, width) {
  const y = HEIGHT - 6, { low, high } = statistic.axis, ends = statistic.whole ? [Math.ceil(low), Math.floor(high)] : [low, high];
  const outside = [statistic.below && `${count(statistic.below)} below`, statistic.above && `${count(statistic.above)} above`].filter(Boolean);
  return [
    svg("line", { class: "base", x1: SIDE, x2: width - SIDE, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM }),
    svg("text", { x: SIDE, y }, shown(Number(ends[0].toPrecision(4)))),
    svg("text", { x: width - SIDE, y, "text-anchor": "end" }, shown(Number(ends[1].toPrecision(4)))),
    outside.length > 0 && svg("text", { x: width / 2, y, "text-anchor": "middle" }, outside.join(", ")),
  ];
}

function line(x, name) {
  return svg("line", { class: name, x1: x, x2: x, y1: TOP, y2: HEIGHT - BOTTOM });
}

function handle(bound, x, start) {
  return svg("g", { class: "handle", "data-bound": bound.name, onpointerdown: start },
    svg("rect", { class: "grip", x: x - 12, y: 0, width: 24, height: HEIGHT - BOTTOM }),
    line(x, "bound"),
    svg("path", { class: "knob", d: `M${x - 6} 2h12v8l-6 6l-6 -6z` }));
}

// A drag begins on a handle and goes on over the whole page, since each move draws the handle anew.
function dragging(bound, scale, width, move, drawing) {
  return (event) => {
    event.preventDefault();
    const to = (moved) => {
      const place = (moved.clientX - drawing.getBoundingClientRect().left - SIDE) / (width - 2 * SIDE);
      move(bound.name, scale.fromLine(place, bound.side));
    };
    const end = () => {
      window.removeEventListener("pointermove", to);
      window.removeEventListener("pointerup", end);
      window.removeEventListener("pointercancel", end);
    };
    window.addEventListener("pointermove", to);
    window.addEventListener("pointerup", end);
    window.addEventListener("pointercancel", end);
  };
}

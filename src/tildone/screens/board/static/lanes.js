// One time axis for lanes, burn-down, marks and playhead: linear, but a long gap without an event has a fixed width.
import { el } from "./el.js";
import { clock, day, span } from "./time.js";

const GAP_MS = 10 * 60e3;
const BREAK_PX = 24;
const SHARE = 0.88;
const LEFT = 16;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10080].map((minutes) => minutes * 60e3);

// `times` are those of all events, ascending; `end` is now, or the last event of a finished history.
// A gap is not shortened while a task was being worked on (`busy`).
/** @param {number[]} times @param {number} end @param {number} width @param {{view?: [number, number], busy?: any[]}} options */
export function scaleOf(times, end, width, { view: [left, right] = [0, 1], busy = [] } = {}) {
  const points = [...times.filter((at) => at <= end), end];
  const parts = [];
  for (let i = 1; i < points.length; i += 1) {
    const ms = points[i] - points[i - 1];
    if (ms > 0) {
      parts.push({
        from: points[i - 1],
        to: points[i],
        x: 0,
        width: 0,
        gap: ms > GAP_MS && !busy.some(([from, to]) => from < points[i] && (to ?? end) > points[i - 1]),
      });
    }
  }
  const room = Math.max(40, (width - LEFT) * SHARE);
  const gaps = parts.filter((part) => part.gap).length;
  const gapPx = gaps ? Math.min(BREAK_PX, (room * 0.5) / gaps) : 0;
  const live = parts.filter((part) => !part.gap).reduce((sum, part) => sum + part.to - part.from, 0);
  const perMs = live ? (room - gaps * gapPx) / live : 0;
  const zoom = 1 / Math.max(0.01, right - left);
  let x = LEFT;
  for (const part of parts) {
    part.x = x;
    part.width = part.gap ? (live ? gapPx : room / gaps) : (part.to - part.from) * perMs;
    x += part.width;
  }
  const begin = points[0] ?? end;
  const raw = (at) => {
    if (!parts.length || at <= begin) return LEFT;
    if (at >= end) return Math.min(x + (at - end) * (perMs || room / 36e5), width - 6);
    const part = parts.find((each) => at <= each.to);
    return part.x + ((at - part.from) / (part.to - part.from)) * part.width;
  };
  const place = (at) => (raw(at) - left * width) * zoom;
  const shown = parts.filter((part) => part.gap).map((part) => ({
    x: place(part.from),
    width: part.width * zoom,
    ms: part.to - part.from,
  }));
  return { x: place, end, begin, width, zoom, breaks: shown, ticks: ticks(parts, place, perMs * zoom, width) };
}

function ticks(parts, place, perMs, width) {
  const step = STEPS.find((each) => each * perMs >= 90) || STEPS[STEPS.length - 1];
  const out = [];
  for (const part of parts.filter((each) => !each.gap)) {
    const shift = new Date(part.from).getTimezoneOffset() * 60e3;
    for (let at = Math.ceil((part.from - shift) / step) * step + shift; at <= part.to; at += step) {
      const x = place(at);
      const last = out[out.length - 1];
      if (x >= 0 && x <= width && (!last || x - last.x >= 70)) {
        out.push({ x, at, label: step >= 1440 * 60e3 ? day(at) : clock(at) });
      }
    }
  }
  return out.slice(0, 12);
}

const MIN_BAR = 3;

// The bars of one task: worked on, in progress now, blocked. Dropped tasks have none.
export function lane(stretches, scale, until) {
  const svg = el("svg.lane", { "aria-hidden": "true", width: "100%", height: 31 });
  for (const [from, to, kind] of stretches || []) {
    const begin = scale.x(from);
    const now = kind === "now" || (kind === "worked" && to === null);
    const end = scale.x(Math.min(to ?? scale.end, scale.end));
    const style = kind === "blocked" ? "blocked" : now ? "now" : "worked";
    const bar = (a, b, veiled) =>
      svg.append(
        el("rect", {
          x: a.toFixed(1),
          y: 9,
          width: Math.max(MIN_BAR, b - a).toFixed(1),
          height: 13,
          rx: 3.5,
          class: veiled ? `${style} veil` : style,
        }),
      );
    if (until === null || end <= until) bar(begin, end, false);
    else if (begin >= until) bar(begin, end, true);
    else {
      bar(begin, end, true);
      bar(begin, until, false);
    }
  }
  return svg;
}

// The pattern of blocked bars, once for the whole page.
export const hatch = () =>
  el(
    "svg.sr",
    { "aria-hidden": "true", width: 0, height: 0 },
    el(
      "defs",
      el("pattern", {
        id: "hatch",
        width: 6,
        height: 6,
        patternUnits: "userSpaceOnUse",
        patternTransform: "rotate(-45)",
      }, el("rect", { width: 3, height: 6, class: "hatch" })),
    ),
  );

// `begins` is the time before which nothing is known, if there is one.
export function gridLines(svg, scale, begins) {
  svg.replaceChildren(
    ...unknown(scale, begins),
    ...scale.ticks.map(({ x }) => el("line", { x1: x, x2: x, y1: 0, y2: "100%", class: "tickline" })),
    ...scale.breaks.map(({ x, width }) => el("rect", { x, width, y: 0, height: "100%", class: "break" })),
  );
}

export const unknown = (scale, begins) =>
  begins > scale.begin
    ? [el("rect", { x: 0, width: Math.max(0, scale.x(begins)), y: 0, height: "100%", class: "unknown" })]
    : [];

// A break in the axis: two strokes, and how long nothing happened.
export const breakMark = ({ x, width, ms }, y) => [
  el("path", { d: `M${(x + width / 2 - 4).toFixed(1)} ${y}l3-8m3 8l3-8`, class: "strokes" }),
  el("text", { x: (x + width / 2).toFixed(1), y: y + 13, class: "axis" }, span(ms)),
];

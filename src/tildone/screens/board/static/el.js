// Elements from names, properties and children. Text only ever becomes text nodes: nothing here parses markup.

const SVG_TAGS = new Set(["svg", "g", "path", "rect", "line", "circle", "polygon", "pattern", "defs", "text", "title"]);
const NS = "http://www.w3.org/2000/svg";

// el("a.btn", {href, on: {click}, style: {"--x": 1}, hidden: true}, ...children): classes come after the name, and the
// properties may be left out, as are children that are false or null.
export function el(tag, ...children) {
  const [name, ...classes] = tag.split(".");
  const node = SVG_TAGS.has(name) ? document.createElementNS(NS, name) : document.createElement(name);
  const props = children[0]?.constructor === Object ? children.shift() : {};
  if (name === "button") put(node, "type", "button");
  if (classes.length) put(node, "class", classes.join(" "));
  for (const [key, value] of Object.entries(props)) put(node, key, value);
  return add(node, children);
}

export function put(node, name, value) {
  if (name === "on") { for (const [type, listener] of Object.entries(value)) node.addEventListener(type, listener); }
  else if (name === "style") { for (const [key, each] of Object.entries(value)) node.style.setProperty(key, each); }
  else if (name === "value") node.value = value;
  else if (/^on/i.test(name)) throw new Error(`not an attribute: ${name}`);
  else if (value === false || value === null || value === undefined) node.removeAttribute(name);
  else node.setAttribute(name, value === true && !name.startsWith("aria-") ? "" : String(value));
}

export function add(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
  return node;
}

export function fill(node, ...children) {
  node.replaceChildren();
  return add(node, children);
}

// Characters that would hide, move or reorder others, as `plan.text.safe` replaces them on the other screens.
const JOINABLE =
  /[\u00a9\u00ae\u203c\u2049\u2100-\u2bff\u3030\u303d\u3297\u3299\u{1f000}-\u{1faff}\u0600-\u061b\u061d-\u0dff\u1000-\u109f\u1780-\u17b3\u17b6-\u17ff\u1820-\u18af\u3400-\u9fff0-9#*\ufe0f]/u;
const HIDDEN =
  /[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;
const JOINERS = /[\u200c\u200d\ufe00-\ufe0f]/;

export function harmless(text, { lines = false } = {}) {
  const whole = String(text ?? "").replace(/\r\n/g, "\n");
  return whole.replace(HIDDEN, (found, at) => {
    if (found === "\n" || /[\v\f\r\x85\u2028\u2029]/.test(found)) return lines ? "\n" : "⏎";
    if (found === "\t" && lines) return found;
    const before = [...whole.slice(Math.max(0, at - 2), at)].pop() || "";
    if (JOINERS.test(found) && JOINABLE.test(before)) return found;
    const code = found.codePointAt(0) ?? 0;
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return code === 0x7f ? "␡" : `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
  });
}

const FOLD = 2000;

// Text of others: isolated, harmless, and folded when it is long.
export function say(text, props) {
  const shown = harmless(text);
  if (shown.length <= FOLD) return el("bdi", props, shown);
  const words = el("bdi", `${shown.slice(0, FOLD)}…`);
  const more = el(
    "button.fold",
    { on: { click: open } },
    `show all ${shown.length.toLocaleString("en")}`,
  );
  function open(event) {
    event.stopPropagation();
    words.textContent = shown;
    more.remove();
  }
  return el("span", props, words, " ", more);
}

// Only our own words get a capital letter.
export const capital = (text) => (text ? text[0].toUpperCase() + text.slice(1) : "");

// What has the focus, at all or within a node.
export const focused = () => /** @type {HTMLElement | null} */ (document.activeElement);
export const focusIn = (node) => (node.contains(document.activeElement) ? focused() : null);

/**
 * The part of `node` with the focus that `selector` describes.
 * @returns {HTMLElement | null}
 */
export const focusedPart = (node, selector) => focusIn(node)?.closest(selector) ?? null;

// The same for a place that has room for one line.
export const brief = (text, length = 300) => {
  const shown = harmless(String(text ?? "").slice(0, length + 1));
  return el("bdi", shown.length > length ? `${shown.slice(0, length)}…` : shown);
};

const PATHS = {
  search: "M7 12.2A5.2 5.2 0 1 0 7 1.8a5.2 5.2 0 0 0 0 10.4Zm3.8-1.4L14.5 14.5",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6ZM8 1v1.4M8 13.6V15M1 8h1.4M13.6 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1",
  rows: "M5.5 4h9M5.5 8h9M5.5 12h9M2 4h.01M2 8h.01M2 12h.01",
  cards: "M2 2h5v5H2zM9 2h5v5H9zM2 9h5v5H2zM9 9h5v5H9z",
  undo: "M5.5 3 2.5 6l3 3M3 6h6.5a4 4 0 0 1 0 8H7",
  redo: "m10.5 3 3 3-3 3M13 6H6.5a4 4 0 0 0 0 8H9",
  down: "M8 2v8M4.5 7 8 10.5 11.5 7M2.5 13.5h11",
  pause: "M5.5 3v10M10.5 3v10",
  play: "M5 3l8 5-8 5z",
  stop: "M3.5 3.5h9v9h-9z",
  needs: "M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13ZM8 4.8v4M8 11.2v.01",
  working: "M8 2a6 6 0 1 0 6 6",
  stuck: "M13 3v3.5H9.5M12.7 6.4A5.5 5.5 0 1 0 13.5 9",
  letgo: "M4 14V2.5h8l-2 3 2 3H4",
  done: "m2.5 8.5 3.5 3.5 7.5-8",
  idle: "M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11Z",
  pending: "M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11Z",
  abandoned: "M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11ZM4.2 4.2l7.6 7.6",
  go: "M2 8h11M9 4l4 4-4 4",
  person: "M8 7.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM2.5 14.5c.5-3 2.7-4.5 5.5-4.5s5 1.5 5.5 4.5",
  note: "M3 2.5h10v8l-3 3H3zM5.5 6h5M5.5 9h3",
  chevron: "m4 6 4 4 4-4",
  more: "M3 8h.01M8 8h.01M13 8h.01",
  plus: "M8 3v10M3 8h10",
  close: "m3.5 3.5 9 9M12.5 3.5l-9 9",
  stats: "M3 14V8M8 14V3M13 14V6",
  fleet: "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  label: "M4 14.5V2h8.5l-2.5 3 2.5 3H4",
  grip: "M6 4h.01M10 4h.01M6 8h.01M10 8h.01M6 12h.01M10 12h.01",
  bell: "M4 11V7a4 4 0 0 1 8 0v4l1.5 1.5h-11zM6.5 14.5h3",
  back: "M13 8H3M7 4 3 8l4 4",
};

export const icon = (name, props) =>
  el("svg.ic", { viewBox: "0 0 16 16", "aria-hidden": "true", ...props }, el("path", { d: PATHS[name] || PATHS.idle }));

// The sign of a task, drawn: filled when done, a dot when in progress, hatched when blocked.
export function sign(status, pending = false) {
  const svg = el("svg", {
    class: `sign ${status}${pending ? " waits" : ""}`,
    viewBox: "0 0 16 16",
    "aria-hidden": "true",
  });
  svg.append(el("circle", { cx: 8, cy: 8, r: 6, class: "ring" }));
  if (status === "completed") svg.append(el("path", { d: "m5 8.2 2.1 2.1 4-4.3", class: "tick" }));
  if (status === "in_progress") svg.append(el("circle", { cx: 8, cy: 8, r: 3, class: "dot" }));
  if (status === "abandoned") svg.append(el("path", { d: "M4 4l8 8", class: "bar" }));
  if (status === "blocked") svg.append(el("path", { d: "M8 4.8v3.8M8 11v.01", class: "bar" }));
  return svg;
}

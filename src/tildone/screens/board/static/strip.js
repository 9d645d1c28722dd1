// The strip: one cell for each task, a gap between phases. `text` is "dd dddax .b. ..".
import { el, put } from "./el.js";
import { STATUS } from "./words.js";

const SIGNS = "dxab.";
const MAX_CELLS = 120;
// So many times as many cells are drawn, rather than to tell apart less than there is.
const ROOM = 1.5;
// From here on, there is no room for wide gaps.
const DENSE = 50;

export function stripLabel(text) {
  const count = (signs) => [...text].filter((sign) => signs.includes(sign)).length;
  const total = [...text].filter((sign) => SIGNS.includes(sign)).length;
  if (!total) return "No tasks";
  const parts = [`${count("dx")} of ${total} closed`];
  if (count("a")) parts.push(`${count("a")} ${STATUS.in_progress}`);
  if (count("b")) parts.push(`${count("b")} ${STATUS.blocked}`);
  return parts.join(", ");
}

// Neighbouring tasks of equal status share a cell when there are too many; an active or blocked one never disappears.
export function cells(text, most = MAX_CELLS) {
  const runs = [];
  for (const sign of text) {
    const last = runs[runs.length - 1];
    if (last && last.sign === sign && sign !== " ") last.size += 1;
    else runs.push({ sign, size: 1 });
  }
  const total = [...text].filter((sign) => sign !== " ").length;
  const scale = total > most ? total / most : 1;
  const out = [];
  for (const { sign, size } of runs) {
    if (sign === " ") out.push({ sign, size: 1 });
    else {
      const cellCount = Math.max(1, Math.round(size / scale));
      for (let i = 0; i < cellCount; i += 1) out.push({ sign, size: size / cellCount });
    }
  }
  return out.length > most * ROOM ? merged(out, most) : out;
}

function merged(all, most) {
  const each = Math.ceil(all.length / most);
  const out = [];
  for (let at = 0; at < all.length; at += each) {
    const signs = all.slice(at, at + each).map((cell) => cell.sign);
    const sign = ["a", "b"].find((one) => signs.includes(one)) || signs.find((one) => one !== " ") || " ";
    out.push({ sign, size: signs.length });
  }
  return out;
}

export function strip(text, { most = MAX_CELLS, tall = false } = {}) {
  return restrip(el(`div.strip${tall ? ".tall" : ""}`, { role: "img" }), text, most);
}

// Changes the cells of a strip that differ, and returns it.
export function restrip(node, text, most = MAX_CELLS) {
  const shown = cells(text, most);
  node.classList.toggle("finished", text.length > 0 && !/[ab.]/.test(text));
  node.classList.toggle("dense", shown.length > DENSE);
  put(node, "aria-label", stripLabel(text));
  shown.forEach(({ sign, size }, at) => {
    const name = { d: "d", x: "x", a: "a", b: "b", " ": "gap" }[sign] || "p";
    const cell = node.children[at] || node.appendChild(el("i"));
    if (cell.className !== name) cell.className = name;
    const grow = sign === " " ? "" : String(size);
    if (cell.style.flexGrow !== grow) cell.style.flexGrow = grow;
  });
  while (node.children.length > shown.length) node.lastChild.remove();
  return node;
}

// Short messages at the lower edge, and the two live regions that screen readers hear.
import { brief, el, fill } from "./el.js";

const box = el("div.toasts", { role: "region", "aria-label": "Messages" });
const status = el("div.sr", { role: "status" });
const alarm = el("div.sr", { role: "alert" });
document.body.append(box, status, alarm);

const SHOWN_MS = 8000;
const STATUS_EVERY_MS = 5000;

/** @param {string} text @param {{action?: string, act?: () => void, bad?: boolean}} options */
export function toast(text, { action, act, bad = false } = {}) {
  const node = el("div", { class: `toast${bad ? " bad" : ""}` }, el("span.t", brief(text)));
  const end = () => node.remove();
  if (action) {
    const run = () => {
      end();
      act?.();
    };
    node.append(el("button.btn.soft", { on: { click: run } }, action));
  }
  node.append(el("button.icon", { "aria-label": "Dismiss", on: { click: end } }, "×"));
  fill(box, node);
  if (bad) tell(text, true);
  else tell(text);
  let timer = setTimeout(end, SHOWN_MS);
  // Nobody is hurried: what is being read or focused stays.
  node.addEventListener("pointerenter", () => clearTimeout(timer));
  node.addEventListener("pointerleave", () => {
    timer = setTimeout(end, SHOWN_MS);
  });
  node.addEventListener("focusin", () => clearTimeout(timer));
  return node;
}

let last = 0;
let waiting = null;

// At most one sentence in 5 s; the newest wins.
export function tell(text, urgent = false) {
  if (urgent) return fill(alarm, brief(text));
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    last = Date.now();
    fill(status, brief(text));
  }, Math.max(0, last + STATUS_EVERY_MS - Date.now()));
}

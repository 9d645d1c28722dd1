// Times in words: 12 s, 4 min, 2 h, then the date. One timer refreshes what is visible.

/** @type {[number, number, string][]} */
const units = [[60e3, 1e3, "s"], [3600e3, 60e3, "min"], [36 * 3600e3, 3600e3, "h"]];

export function span(ms) {
  for (const [limit, unit, name] of units) if (ms < limit) return `${Math.max(0, Math.floor(ms / unit))} ${name}`;
  return `${Math.floor(ms / 86400e3)} d`;
}

export const clock = (at) => new Date(at).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
export const day = (at) =>
  new Date(at).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });
export const moment = (at) => (day(at) === day(Date.now()) ? clock(at) : `${day(at)}, ${clock(at)}`);
export const absolute = (at) => `${day(at)}, ${new Date(at).toLocaleTimeString("en-GB")}`;

export function ago(at, now = Date.now()) {
  if (!at) return "";
  const past = now - at;
  return past > 7 * 86400e3 ? day(at) : past < 1500 ? "now" : `${span(past)} ago`;
}

// In sentences: "30 minutes ago".
export function spoken(ms) {
  const [count, name] = ms < 90e3
    ? [ms / 1e3, "second"]
    : ms < 90 * 60e3
    ? [ms / 60e3, "minute"]
    : ms < 36 * 3600e3
    ? [ms / 3600e3, "hour"]
    : [ms / 86400e3, "day"];
  const whole = Math.max(0, Math.round(count));
  return `${whole} ${name}${whole === 1 ? "" : "s"}`;
}

export function tokens(count) {
  if (count >= 1e6) return `${(count / 1e6).toFixed(1)}M`;
  return count >= 1e3 ? `${Math.round(count / 1e3)}k` : String(count);
}
export const money = (usd) => `$${usd.toFixed(2)}`;
export const plural = (count, one, many = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

// A <time> that keeps itself current while its page is visible.
export function since(node, at, words = ago) {
  node.dateTime = new Date(at).toISOString();
  node.title = absolute(at);
  node.ticks = () => words(at);
  node.textContent = node.ticks();
  node.classList.add("tick");
  return node;
}

export function tick() {
  if (document.hidden) return;
  for (const node of /** @type {Iterable<any>} */ (document.getElementsByClassName("tick"))) {
    const now = node.ticks && node.ticks();
    if (node.ticks && node.textContent !== now) node.textContent = now;
  }
}

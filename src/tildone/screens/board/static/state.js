// A small store: topics with values, subscribers, and one render for each animation frame.

const values = new Map();
const subscribers = new Map();
const dirty = new Set();
let scheduled = false;

export const get = (topic) => values.get(topic);

export function set(topic, value) {
  values.set(topic, value);
  dirty.add(topic);
  schedule();
}

export const update = (topic, change) => set(topic, change(values.get(topic)));

// Calls `callback` with the value after each change, and once now if there is one. Returns what ends it.
export function on(topic, callback) {
  if (!subscribers.has(topic)) subscribers.set(topic, new Set());
  subscribers.get(topic).add(callback);
  if (values.has(topic)) callback(values.get(topic));
  return () => subscribers.get(topic).delete(callback);
}

function schedule() {
  if (scheduled) return;
  scheduled = true;
  // A hidden page has no animation frames, but it may be the one that reads for all others.
  if (document.hidden) setTimeout(flush, 0);
  else requestAnimationFrame(flush);
}

function flush() {
  scheduled = false;
  const topics = [...dirty];
  dirty.clear();
  for (const topic of topics) for (const callback of subscribers.get(topic) || []) callback(values.get(topic));
}

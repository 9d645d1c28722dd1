// Live updates: one stream for each browser.
//
// A stream holds one of the six connections that HTTP/1.1 allows for a host, so only the tab with the Web Lock reads it and
// passes its frames on over a BroadcastChannel. When that tab closes, the next one gets the lock and goes on after the
// newest frame that it has heard. Each tab announces its topics; the reader asks for all of them. A tab whose topics are
// in the stream for the first time reads its snapshots again (an unchanged one costs a 304), so that no frame is missed.
import { BASE, headers } from "./api.js";
import { get, set } from "./state.js";

const SILENCE_MS = 40000;
const HIDDEN_MS = 30000;
const tab = Math.random().toString(36).slice(2);
const channel = new BroadcastChannel(`tildone-live:${BASE}`);
const wanted = new Map([[tab, []]]);
const listeners = new Set();
const newest = new Map();
let lastId = "";
let leader = false;
let controller = null;
let attempt = 0;
let retry = 1000;
let timer = 0;
let watchdog = 0;
let opened = "";
let covered = "";

export const listen = (callback) => {
  listeners.add(callback);
  return () => listeners.delete(callback);
};

// Whether a frame or a snapshot is newer than a snapshot. Numbers of another process cannot be compared.
export function isAfter(id, seq) {
  const [boot, number] = (id || "").split(".");
  const [other, least] = (seq || "").split(".");
  return boot === other && Number(number) > Number(least);
}

// What the newest frame of an event tells about a session, if it is newer than a snapshot.
export function told(event, key, seq) {
  const frame = newest.get(`${event} ${key}`);
  return frame && isAfter(frame.id, seq) ? frame.data : null;
}

// The topics of this tab, in place of those before.
export function watch(topics) {
  wanted.set(tab, topics);
  channel.postMessage({ type: "want", tab, topics });
  if (leader) reopen();
}

export function start() {
  channel.onmessage = ({ data }) => heard(data);
  addEventListener("pagehide", () => channel.postMessage({ type: "gone", tab }));
  addEventListener("online", hurry);
  document.addEventListener("visibilitychange", () => !document.hidden && hurry());
  if (navigator.locks) navigator.locks.request(`tildone-live:${BASE}`, lead);
  else alone();
  channel.postMessage({ type: "want", tab, topics: wanted.get(tab) });
}

function lead() {
  leader = true;
  channel.postMessage({ type: "who" });
  reopen();
  return new Promise(() => {});
}

// Without locks: each visible tab reads for itself, and a hidden one stops after a while.
function alone() {
  leader = true;
  let hiding = 0;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiding);
    if (document.hidden) hiding = setTimeout(() => controller && controller.abort(), HIDDEN_MS);
    else if (!controller) reopen();
  });
  reopen();
}

function heard(message) {
  if (message.type === "want") {
    wanted.set(message.tab, message.topics);
    if (leader) {
      channel.postMessage({ type: "status", live: get("live") });
      reopen();
    }
  } else if (message.type === "gone") wanted.delete(message.tab);
  else if (message.type === "who") channel.postMessage({ type: "want", tab, topics: wanted.get(tab) });
  else if (message.type === "status" && message.live) show(message.live);
  else if (message.type === "frame") deliver(message.frame);
}

function pass(frame) {
  channel.postMessage({ type: "frame", frame });
  deliver(frame);
}

function deliver(frame) {
  if (frame.id) {
    lastId = frame.id;
    newest.set(`${frame.event} ${frame.data?.key || ""}`, frame);
  }
  if (frame.event === "open") {
    const before = covered.split(",");
    covered = frame.topics;
    if (!frame.fresh && wanted.get(tab)?.every((topic) => before.includes(topic))) return;
  }
  for (const callback of listeners) callback(frame);
}

function show(live) {
  const before = get("live");
  if (!before || before.on !== live.on || before.since !== live.since) set("live", live);
}

function announce(on) {
  const before = get("live");
  if (before && before.on === on) return;
  show({ on, since: Date.now() });
  channel.postMessage({ type: "status", live: get("live") });
}

const topics = () => [...new Set([...wanted.values()].flat())].sort().join(",");

function hurry() {
  if (!leader || controller) return;
  attempt = 0;
  reopen();
}

let soon = 0;

// Tabs announce themselves one after the other: they are answered together.
function reopen() {
  clearTimeout(soon);
  soon = setTimeout(() => {
    if (controller && opened === topics()) return;
    clearTimeout(timer);
    if (controller) controller.abort();
    read();
  }, 30);
}

async function read() {
  const mine = new AbortController();
  controller = mine;
  opened = topics();
  try {
    const more = lastId ? { "Last-Event-ID": lastId } : {};
    const url = `${BASE}/api/live?topics=${encodeURIComponent(opened)}`;
    arm(mine);
    const response = await fetch(url, {
      headers: headers({ Accept: "text/event-stream", ...more }),
      signal: mine.signal,
      cache: "no-store",
      redirect: "error",
    });
    if (response.status === 401) set("signed-out", true);
    if (!response.ok) throw new Error(String(response.status));
    attempt = 0;
    announce(true);
    // Without a number to go on after, whatever happened meanwhile is unknown.
    pass({ event: "open", topics: opened, fresh: !more["Last-Event-ID"] });
    await lines(response.body?.getReader(), mine);
    throw new Error("the stream ended");
  } catch {
    // Replaced by a newer stream: that one counts.
    if (controller !== mine) return;
    controller = null;
    clearTimeout(watchdog);
    announce(false);
    if (!get("signed-out")) again();
  }
}

function again() {
  const wait = Math.min(30000, retry * 2 ** attempt) * (0.7 + Math.random() * 0.6);
  attempt += 1;
  clearTimeout(timer);
  timer = setTimeout(read, wait);
}

function arm(mine) {
  clearTimeout(watchdog);
  watchdog = setTimeout(() => mine.abort(), SILENCE_MS);
}

async function lines(reader, mine) {
  const decoder = new TextDecoder();
  let rest = "";
  let frame = {};
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    arm(mine);
    rest += decoder.decode(value, { stream: true });
    const parts = rest.split("\n");
    rest = parts.pop() ?? "";
    for (const line of parts) frame = parsed(line.replace(/\r$/, ""), frame);
  }
}

// One line of the stream; an empty one ends a frame.
function parsed(line, frame) {
  if (!line) {
    if (frame.event === "bye") {
      retry = JSON.parse(frame.data).in || 500;
      attempt = 0;
    } else if (frame.data !== undefined) pass({ ...frame, data: JSON.parse(frame.data) });
    return {};
  }
  const colon = line.indexOf(":");
  const name = colon < 0 ? line : line.slice(0, colon);
  const text = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
  if (name === "retry") retry = Number(text) || retry;
  else if (name === "data") frame.data = frame.data === undefined ? text : `${frame.data}\n${text}`;
  else if (name) frame[name] = text;
  return frame;
}

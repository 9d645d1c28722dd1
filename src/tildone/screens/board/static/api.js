// Requests to the board's own server. Each carries the key from localStorage; the cookie goes along by itself.
import { get, set } from "./state.js";

export const BASE = document.documentElement.dataset.base || "";
// Of the files of this page: the board may have been replaced by another version since.
const VERSION = new URL(import.meta.url).pathname.split("/").at(-2);
const KEY = `tildone-key:${BASE}`;

export const keep = (key) => localStorage.setItem(KEY, key);
export const forget = () => localStorage.removeItem(KEY);
export const hasKey = () => localStorage.getItem(KEY) !== null;
// Another tab has come in.
export const whenKept = (callback) =>
  addEventListener("storage", (event) => event.key === KEY && event.newValue && callback());

let answered = false;
// Whether the board has answered this page anything but that nobody is signed in.
export const wasIn = () => answered;

export const headers = (more) => ({ "X-Tildone-Key": localStorage.getItem(KEY) || "", ...more });

export class Refused extends Error {
  constructor(status, body) {
    super(body.error || `The board answered ${status}.`);
    this.status = status;
    this.body = body;
    this.hint = body.hint || "";
  }
}

// What can go wrong without an answer: the server is away. Drafts stay where they are.
export class Away extends Error {
  constructor() {
    super("The board does not answer. Nothing is lost: try again when it is back.");
    this.status = 0;
    this.body = {};
    this.hint = "";
  }
}

const kept = new Map();

// GET, revalidated by its ETag: an unchanged answer is the same object as before.
/** @param {string} path @param {{signal?: AbortSignal, keep?: boolean}} options */
export async function read(path, { signal, keep = true } = {}) {
  const known = keep && kept.get(path);
  const response = await send(path, { headers: headers(known && { "If-None-Match": known.tag }), signal });
  if (response.status === 304 && known) return Object.assign(known.body, { seq: seqOf(response) });
  const body = await answer(response);
  const tag = response.headers.get("ETag");
  if (tag && keep) kept.set(path, { tag, body });
  if (body.user) set("user", body.user);
  if (kept.size > 40) kept.delete(kept.keys().next().value);
  return body;
}

// POST. `head` is what the person saw; a repeated request with the same `once` has the same answer.
/** @param {string} path @param {object} body @param {{head?: string | null, once?: string}} options */
export async function write(path, body, { head, once = unique() } = {}) {
  const more = { "Content-Type": "application/json", "Idempotency-Key": once };
  if (head) more["If-Match"] = `"${head}"`;
  return answer(await send(path, { method: "POST", headers: headers(more), body: JSON.stringify(body) }));
}

export const unique = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

// When an answer was made, to be compared with frames.
const seqOf = (response) => response.headers.get("X-Tildone-Seq") || "";

async function send(path, options) {
  try {
    return await fetch(`${BASE}${path}`, {
      credentials: "same-origin",
      cache: "no-store",
      redirect: "error",
      ...options,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Away();
  }
}

async function answer(response) {
  const version = response.headers.get("X-Tildone-Version") ?? VERSION;
  if (version !== VERSION && !get("outdated")) set("outdated", true);
  const body = await response.json().catch(() => ({}));
  answered ||= response.status !== 401;
  if (response.ok) return Object.assign(body, { seq: seqOf(response) });
  if (response.status === 401) set("signed-out", true);
  throw new Refused(response.status, body);
}

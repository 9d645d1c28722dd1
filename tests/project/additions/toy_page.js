// A page that a test adds: how many sessions there are.
import { el, fill } from "./el.js";
import { read } from "./api.js";

export function page({ main }) {
  read("/api/sessions").then((body) => fill(main, el("h1", {}, `${body.counts.all} toys`)));
  return { end() {}, frame() {}, keys: {} };
}

// The burn-down with marks is the scrubber: it shows the plan at any moment. The playhead snaps to events.
import { brief, el, fill } from "./el.js";
import { clock, plural } from "./time.js";
import { breakMark, unknown } from "./lanes.js";

const HEIGHT = 70;
const MARK_Y = 88;
const CLUSTER_PX = 6;
// More marks at one place are counted. Each count has room for its digits.
const UNCOUNTED = 3;
const DIGIT_PX = 7;
const room = (
  count,
) => (count >= UNCOUNTED ? Math.max(CLUSTER_PX, DIGIT_PX * (String(count + 1).length + 1)) : CLUSTER_PX);

// Shapes differ, and so do sizes: colour is never the only difference.
const SHAPES = {
  change: (x) => el("circle", { cx: x, cy: MARK_Y, r: 2.6, class: "m change" }),
  nudge: (x) => el("path", { d: `M${x} ${MARK_Y - 5}l5 5-5 5-5-5z`, class: "m nudge" }),
  person: (x) => el("path", { d: `M${x} ${MARK_Y - 5}l5 9h-10z`, class: "m person" }),
  blocked: (x) => el("rect", { x: x - 4, y: MARK_Y - 4, width: 8, height: 8, class: "m blockedmark" }),
  letgo: (x) => el("rect", { x: x - 5, y: MARK_Y - 5, width: 10, height: 10, class: "m letgo" }),
  label: (x) => el("path", { d: `M${x - 3} ${MARK_Y + 5}v-10h8l-3 3 3 3h-8`, class: "m label" }),
};
const RANK = ["letgo", "blocked", "person", "nudge", "label", "change"];

export class Scrub {
  /**
   * The playhead is at the point that `move` names, or at null: now.
   * @param {{move: (index: number | null, resting?: boolean) => void, zoom: (change: {by?: number, around?: number, from?: number, to?: number}) => void}} actions
   */
  constructor({ move, zoom }) {
    this.move = move;
    this.zoom = zoom;
    /** @type {import("./points.js").Point[]} */
    this.points = [];
    /** @type {number[][]} */
    this.steps = [];
    /** @type {any} */
    this.scale = null;
    /** @type {number | null} */
    this.index = null;
    /** @type {number | undefined} */
    this.begins = undefined;
    /** @type {number | null} */
    this.estimate = null;
    this.live = true;
    /** @type {"range" | "head" | false} */
    this.held = false;
    this.from = 0;
    this.svg = el("svg.burn-svg", { width: "100%", height: 122, "aria-hidden": "true" });
    this.knob = el("div.knob", {
      role: "slider",
      tabindex: 0,
      "aria-label": "Moment of the plan",
      "aria-valuemin": 0,
      "aria-keyshortcuts": "ArrowLeft ArrowRight Home End Escape",
      on: { keydown: (event) => this.key(event) },
    });
    this.info = el("div.burn-info");
    this.chart = el(
      "div.burn-chart",
      {
        on: {
          pointerdown: (event) => this.down(event),
          pointermove: (event) => this.drag(event),
          pointerup: (event) => this.up(event),
          pointercancel: (event) => this.up(event),
          wheel: (event) => this.wheel(event),
        },
      },
      this.svg,
      this.knob,
    );
    this.handle = el("button.drawer", {
      "aria-label": "Show or hide the history",
      "aria-expanded": "true",
      on: { click: () => this.fold() },
    });
    this.node = el("section.burn", { "aria-label": "Open tasks over time" }, this.handle, this.info, this.chart);
  }

  fold() {
    const closed = this.node.classList.toggle("closed");
    this.handle.setAttribute("aria-expanded", String(!closed));
  }

  // {points: [{id, at, kind, text, open, total}], steps: [[at, count]], scale, now, estimate, index}
  set(model) {
    Object.assign(this, model);
    this.draw();
  }

  x(index) {
    return index === null ? this.scale.x(this.scale.end) : this.scale.x(this.points[index].at);
  }

  draw() {
    const { scale, steps, points, index } = this;
    const most = Math.max(1, ...steps.map((step) => step[1]));
    const y = (count) => (HEIGHT - (count / most) * (HEIGHT - 8)).toFixed(1);
    const parts = [];
    const end = scale.x(scale.end);
    if (steps.length > 1 && (points.length >= 3 || steps.length > 2)) {
      let path = `M${scale.x(steps[0][0]).toFixed(1)} ${y(steps[0][1])}`;
      for (const [at, count] of steps.slice(1)) path += `H${scale.x(at).toFixed(1)}V${y(count)}`;
      path += `H${end.toFixed(1)}`;
      parts.push(
        el("path", { d: `${path}V${HEIGHT}H${scale.x(steps[0][0]).toFixed(1)}Z`, class: "area" }),
        el("path", { d: path, class: "stepline" }),
      );
      const left = steps[steps.length - 1][1];
      if (this.estimate && left) {
        parts.push(
          el("path", { d: `M${end.toFixed(1)} ${y(left)}L${scale.width - 6} ${y(left * 0.6)}`, class: "hope" }),
        );
      }
    }
    parts.push(...unknown(scale, this.begins), ...this.marks(), ...this.axis());
    fill(this.svg, parts);
    const x = this.x(index);
    this.knob.style.setProperty("left", `${x.toFixed(1)}px`);
    const point = index === null ? null : points[index];
    this.knob.setAttribute("aria-valuemax", points.length);
    this.knob.setAttribute("aria-valuenow", index ?? points.length);
    this.knob.setAttribute(
      "aria-valuetext",
      point ? `${clock(point.at)}, ${point.text}, ${point.open} of ${point.total} open` : "Now",
    );
  }

  marks() {
    const groups = [];
    for (const point of this.points) {
      const x = this.scale.x(point.at);
      if (x < -8 || x > this.scale.width + 8) continue;
      const last = groups[groups.length - 1];
      if (last && x - last.x < room(last.kinds.length)) last.kinds.push(point.kind);
      else groups.push({ x, kinds: [point.kind] });
    }
    return groups.flatMap(({ x, kinds }) => {
      const kind = RANK.find((each) => kinds.includes(each)) || "change";
      const shape = SHAPES[kind](x.toFixed(1) * 1);
      return kinds.length > UNCOUNTED
        ? [shape, el("text", { x: x.toFixed(1), y: MARK_Y - 8, class: "cluster" }, String(kinds.length))]
        : [shape];
    });
  }

  axis() {
    const now = this.scale.x(this.scale.end);
    const out = this.scale.ticks.filter(({ x }) => Math.abs(x - now) > 44).map(({ x, label }) =>
      el("text", { x: Math.max(16, x), y: 114, class: "axis" }, label)
    );
    out.push(
      el(
        "text",
        { x: Math.min(now, this.scale.width - 14), y: 114, class: "axis" },
        this.live === false ? "last" : "now",
      ),
    );
    for (const each of this.scale.breaks) if (each.width >= 20) out.push(...breakMark(each, 50));
    if (this.estimate && now < this.scale.width - 60) {
      out.push(el("text", { x: this.scale.width - 22, y: 114, class: "axis" }, `~${clock(this.estimate)}`));
    }
    return out;
  }

  // The point nearest to a place; right of the last one is now.
  nearest(x) {
    const now = this.x(null);
    let best = null;
    let distance = Math.abs(now - x) * 0.7;
    this.points.forEach((point, index) => {
      const away = Math.abs(this.scale.x(point.at) - x);
      if (away < distance) [best, distance] = [index, away];
    });
    return best === this.points.length - 1 ? null : best;
  }

  to(index, resting = true) {
    if (!this.points.length) return;
    this.index = index !== null && index >= this.points.length - 1 ? null : index;
    this.move(this.index, resting);
  }

  place(event) {
    return event.clientX - this.svg.getBoundingClientRect().left;
  }

  down(event) {
    if (event.button) return;
    const x = this.place(event);
    const y = event.clientY - this.svg.getBoundingClientRect().top;
    event.preventDefault();
    this.chart.setPointerCapture(event.pointerId);
    this.held = y > 100 ? "range" : "head";
    this.from = x;
    if (this.held === "head") {
      this.knob.focus({ preventScroll: true });
      this.to(this.nearest(x), false);
    }
  }

  drag(event) {
    if (this.held === "head") this.to(this.nearest(this.place(event)), false);
  }

  up(event) {
    const { held } = this;
    this.held = false;
    if (held === "head") this.to(this.index);
    else if (held === "range" && event.type === "pointerup") {
      const x = this.place(event);
      if (Math.abs(x - this.from) > 12) this.zoom({ from: Math.min(x, this.from), to: Math.max(x, this.from) });
      else this.to(this.nearest(x));
    }
  }

  wheel(event) {
    if (!event.ctrlKey) return;
    event.preventDefault();
    this.zoom({ by: event.deltaY < 0 ? 0.8 : 1.25, around: this.place(event) });
  }

  key(event) {
    const at = this.index ?? this.points.length - 1;
    const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: 10, PageDown: -10 };
    if (event.key in steps) {
      this.to(event.shiftKey ? this.jump(at, Math.sign(steps[event.key])) : Math.max(0, at + steps[event.key]));
    } else if (event.key === "Home") this.to(0);
    else if (event.key === "End") this.to(null);
    else if (event.key === "+" || event.key === "=") this.zoom({ by: 0.7, around: this.x(this.index) });
    else if (event.key === "-") this.zoom({ by: 1.4, around: this.x(this.index) });
    else if (event.key === "0") this.zoom({ by: 0 });
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // The next change of a task, in one direction.
  jump(at, step) {
    for (let next = at + step; next >= 0 && next < this.points.length; next += step) {
      if (this.points[next].kind !== "nudge" && this.points[next].kind !== "label") return next;
    }
    return step < 0 ? 0 : null;
  }

  // The words beside the chart.
  say({ open, total, at, line, missing }) {
    fill(
      this.info,
      el("h2", "Open tasks over time"),
      el("p.big", el("b", String(open)), ` of ${total} open${at ? ` at ${clock(at)}` : ""}`),
      el("p.dim", brief(line || (total ? "" : plural(0, "task")))),
      missing && el("p.dim.missing", missing),
      el("p.legend.dim", legend("nudge", "told to go on"), legend("person", "a person"), legend("blocked", "blocked")),
    );
  }
}

function legend(kind, text) {
  const shape = SHAPES[kind](6);
  shape.setAttribute("transform", `translate(0 ${6 - MARK_Y})`);
  return el("span", el("svg", { width: 12, height: 12, "aria-hidden": "true" }, shape), text);
}

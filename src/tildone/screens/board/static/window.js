// Windows over many items: only what is near the viewport is in the document.
import { el, focused } from "./el.js";

const OVERSCAN = 1;

// Items of the same height. draw(index, node) returns the node of an item, given the one it had before; reach() is called near the end.
export class Window {
  /**
   * @param {HTMLElement} list
   * @param {{height: number, gap: number, columns: (width: number) => number, draw: (index: number, old?: HTMLElement) => HTMLElement, reach: () => void}} options
   */
  constructor(list, { height, gap, columns, draw, reach }) {
    this.list = list;
    this.height = height;
    this.gap = gap;
    this.columns = columns;
    this.draw = draw;
    this.reach = reach;
    this.count = 0;
    this.frame = 0;
    this.pressed = false;
    /** @type {Map<string | number, HTMLElement>} */
    this.nodes = new Map();
    /** @type {(index: number) => string | number} */
    this.keyOf = (index) => index;
    this.paint = this.paint.bind(this);
    this.later = () => {
      this.frame ||= requestAnimationFrame(this.paint);
    };
    // A node that is drawn anew between the press and the release of a button gets no click.
    this.press = () => {
      this.pressed = true;
    };
    this.release = () => {
      if (this.pressed) {
        this.pressed = false;
        this.later();
      }
    };
    list.addEventListener("pointerdown", this.press);
    for (const end of ["pointerup", "pointercancel"]) addEventListener(end, this.release);
    addEventListener("scroll", this.later, { passive: true });
    this.sizes = new ResizeObserver(this.later);
    this.sizes.observe(list);
  }

  end() {
    removeEventListener("scroll", this.later);
    for (const end of ["pointerup", "pointercancel"]) removeEventListener(end, this.release);
    this.sizes.disconnect();
    this.count = 0;
  }

  resize(count, keyOf) {
    this.count = count;
    this.keyOf = keyOf;
    this.paint();
  }

  place(index) {
    const columns = this.columns(this.list.clientWidth);
    return { columns, row: Math.floor(index / columns), column: index % columns };
  }

  // Brings an item into view and returns its node.
  show(index) {
    const { row } = this.place(index);
    const top = this.list.getBoundingClientRect().top + scrollY + row * (this.height + this.gap);
    if (top < scrollY + 70) scrollTo({ top: top - 80 });
    else if (top + this.height > scrollY + innerHeight - 70) scrollTo({ top: top + this.height + 80 - innerHeight });
    this.paint();
    return this.nodes.get(this.keyOf(index));
  }

  paint() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    const { list, height, gap, count } = this;
    if (!list.isConnected || this.pressed) return;
    const width = list.clientWidth;
    const columns = this.columns(width);
    const rows = Math.ceil(count / columns);
    list.style.setProperty("height", `${Math.max(0, rows * (height + gap) - gap)}px`);
    const top = -list.getBoundingClientRect().top;
    const pitch = height + gap;
    const first = Math.max(0, Math.floor((top - innerHeight * OVERSCAN) / pitch));
    const last = Math.min(rows, Math.ceil((top + innerHeight * (1 + OVERSCAN)) / pitch));
    const wide = (width - gap * (columns - 1)) / columns;
    const kept = new Map();
    let previous = null;
    for (let index = first * columns; index < Math.min(count, last * columns); index += 1) {
      const key = this.keyOf(index);
      const node = this.draw(index, this.nodes.get(key));
      const { row, column } = { row: Math.floor(index / columns), column: index % columns };
      node.style.setProperty("width", `${wide}px`);
      node.style.setProperty("transform", `translate(${column * (wide + gap)}px, ${row * pitch}px)`);
      kept.set(key, node);
      const place = previous ? previous.nextSibling : list.firstChild;
      // A focused node is not taken out and put back: it would lose the focus.
      if (node !== place && !(node.isConnected && node.contains(focused()))) {
        list.insertBefore(node, place);
      }
      previous = node;
    }
    for (const [key, node] of this.nodes) if (kept.get(key) !== node) node.remove();
    this.nodes = kept;
    if (last >= rows) this.reach();
  }
}

const ALL_ROWS = 150;

// Lists of rows of different heights, one below the other: only the rows near the viewport are in the document, and those
// that are held. The others leave gaps as high as they were when they were drawn last, or as high as rows are on average.
// A short list has all its rows. `paint` is called when it is time to draw others.
export class Rows {
  /** @param {HTMLElement} node @param {() => void} paint */
  constructor(node, paint) {
    this.node = node;
    this.all = false;
    this.frame = 0;
    this.width = 0;
    this.height = 32;
    /** @type {Map<number, number>} */
    this.heights = new Map();
    /** @type {Map<number, HTMLElement>} */
    this.drawn = new Map();
    this.later = () => {
      this.frame ||= requestAnimationFrame(() => {
        this.frame = 0;
        if (node.isConnected) paint();
      });
    };
    addEventListener("scroll", this.later, { passive: true });
    this.sizes = new ResizeObserver(this.later);
    this.sizes.observe(node);
  }

  end() {
    removeEventListener("scroll", this.later);
    this.sizes.disconnect();
    cancelAnimationFrame(this.frame);
  }

  measure() {
    if (this.width !== this.node.clientWidth) this.heights.clear();
    this.width = this.node.clientWidth;
    for (const [number, li] of this.drawn) if (li.isConnected) this.heights.set(number, li.offsetHeight);
    const known = [...this.heights.values()];
    this.height = known.length ? known.reduce((sum, each) => sum + each, 0) / known.length : this.height;
  }

  // lists: {node, tasks}; `held` are numbers of tasks; draw(task, list, place, count) returns a row.
  paint(lists, held, draw) {
    const total = lists.reduce((sum, list) => sum + list.tasks.length, 0);
    const short = this.all || total <= ALL_ROWS;
    if (!short) {
      this.measure();
      // What was never drawn has its height at once, so that what follows is in its place.
      for (const { node, tasks } of lists) if (!node.childElementCount) node.append(gap(tasks.length * this.height));
    }
    const tops = lists.map(({ node }) => (short ? 0 : node.getBoundingClientRect().top));
    this.drawn = new Map();
    lists.forEach((list, index) => {
      const { tasks } = list;
      const children = [];
      let [top, skipped] = [tops[index], 0];
      const skip = () => {
        if (skipped) children.push(gap(skipped));
        skipped = 0;
      };
      tasks.forEach((task, place) => {
        const height = this.heights.get(task.number) ?? this.height;
        const near = short || (top + height > -innerHeight && top < 2 * innerHeight);
        if (near || held.has(task.number)) {
          skip();
          const li = draw(task, list, place, tasks.length);
          this.drawn.set(task.number, li);
          children.push(li);
        } else skipped += height;
        top += height;
      });
      skip();
      arrangeIn(list.node, children);
    });
  }
}

const gap = (height) => {
  const li = el("li.gap", { "aria-hidden": "true" });
  li.style.setProperty("height", `${height}px`);
  return li;
};

// Makes the children of a node these. Those that stay in their order are not taken out, so they keep focus and selection.
export function arrangeIn(node, children) {
  const wanted = new Set(children);
  for (const child of [...node.childNodes]) if (!wanted.has(child)) child.remove();
  let place = node.firstChild;
  for (const child of children) {
    if (child === place) place = place.nextSibling;
    else node.insertBefore(child, place);
  }
}

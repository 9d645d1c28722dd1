// Moving a task by dragging its grip: a line shows where it would go; Esc gives up. The rows stay until it is let go.
import { el } from "./el.js";

export function drag(view, event, row) {
  if (event.button) return;
  event.preventDefault();
  const line = el("div.dropline");
  const grip = event.currentTarget;
  grip.setPointerCapture(event.pointerId);
  row.li.classList.add("dragged");
  view.dragging = { row, to: null };
  const over = (moving) => {
    const drawn = [...view.list.querySelectorAll("li.task")];
    const target = drawn.filter((li) => li !== row.li).map((li) => ({ li, box: li.getBoundingClientRect() }))
      .find(({ box }) => moving.clientY >= box.top - 4 && moving.clientY <= box.bottom + 4);
    if (!target) return;
    const after = moving.clientY > target.box.top + target.box.height / 2;
    view.dragging.to = { number: Number(target.li.dataset.number), after };
    target.li[after ? "after" : "before"](line);
  };
  const end = (last) => {
    const { to } = view.dragging;
    view.dragging = null;
    line.remove();
    row.li.classList.remove("dragged");
    grip.removeEventListener("pointermove", over);
    removeEventListener("keydown", cancel, true);
    if (last.type === "pointerup" && to) view.drop(row, to);
    view.moved = 0;
    view.settle();
  };
  const cancel = (key) => {
    if (key.key === "Escape") {
      key.stopPropagation();
      end(key);
    }
  };
  grip.addEventListener("pointermove", over);
  grip.addEventListener("pointerup", (last) => view.dragging && end(last), { once: true });
  grip.addEventListener("pointercancel", (last) => view.dragging && end(last), { once: true });
  addEventListener("keydown", cancel, true);
}

// A menu on a button: arrows move, Enter acts, Esc closes. On a phone it is a sheet.
import { el, focused } from "./el.js";

export function menu(anchor, items) {
  const box = el("div.menu", { role: "menu", popover: "auto" });
  const act = (item) => {
    box.hidePopover();
    anchor.isConnected && anchor.focus({ preventScroll: true });
    item.act();
  };
  for (const item of items.filter((each) => each === null || each)) {
    box.append(
      item
        ? el(
          "button",
          {
            role: "menuitem",
            tabindex: -1,
            on: { click: () => act(item) },
          },
          item.label,
          item.key && el("kbd", { "aria-hidden": "true" }, item.key),
        )
        : el("hr"),
    );
  }
  const choices = [...box.querySelectorAll("button")];
  box.addEventListener("keydown", (event) => {
    const at = choices.indexOf(focused());
    const to = { ArrowDown: at + 1, ArrowUp: at - 1 + choices.length, Home: 0, End: choices.length - 1 }[event.key];
    event.stopPropagation();
    if (event.key === "Tab") box.hidePopover();
    if (to === undefined) return;
    event.preventDefault();
    choices[to % choices.length].focus();
  });
  box.addEventListener("toggle", (event) => {
    if (event.newState !== "closed") return;
    const inside = box.contains(focused());
    box.remove();
    anchor.setAttribute("aria-expanded", "false");
    if (inside && anchor.isConnected) anchor.focus({ preventScroll: true });
  });
  (anchor.closest("header, main") || document.body).append(box);
  box.showPopover();
  anchor.setAttribute("aria-expanded", "true");
  const from = anchor.getBoundingClientRect();
  const size = box.getBoundingClientRect();
  box.style.setProperty("left", `${Math.max(8, Math.min(from.right - size.width, innerWidth - size.width - 8))}px`);
  box.style.setProperty(
    "top",
    `${from.bottom + size.height + 8 > innerHeight ? Math.max(8, from.top - size.height - 4) : from.bottom + 4}px`,
  );
  choices[0]?.focus();
}

// Dialogs on <dialog>: modal, closed by Esc, focus returns to where it was. On a phone they are sheets from below.
import { el, fill, focused } from "./el.js";

// Resolves with what a button gave, or null. `build(close)` returns the content; its first [autofocus] gets the focus.
export function dialog(title, build, { kind = "" } = {}) {
  return new Promise((resolve) => {
    const before = focused();
    const box = el("dialog", { class: `dialog ${kind}`, "aria-labelledby": "dialog-title" });
    let result = null;
    const close = (value) => {
      result = value ?? null;
      box.close();
    };
    box.append(el("h2", { id: "dialog-title" }, title), ...[build(close)].flat());
    box.addEventListener("close", () => {
      box.remove();
      if (before && before.isConnected) before.focus({ preventScroll: true });
      resolve(result);
    });
    box.addEventListener("click", (event) => event.target === box && box.close());
    document.body.append(box);
    box.showModal();
    (box.querySelector("[autofocus]") || box.querySelector("input, textarea, button"))?.focus();
  });
}

export const actions = (...buttons) => el("div.dialog-actions", buttons);

export const button = (label, act, kind = "", props = {}) =>
  el("button.btn", { ...(kind && { class: `btn ${kind}` }), ...props, on: { click: act } }, label);

// The end of most dialogs: to give up, or to do what it is about.
export const cancelOr = (close, verb, act, props = {}) =>
  actions(button("Cancel", () => close(null), "plain"), button(verb, act, "main", props));

// Asks with a sentence and what would happen; resolves with true or null.
export const confirm = (title, words, verb) =>
  dialog(title, (close) => [
    el("div.dialog-body", [words].flat().map((each) => el("p", each))),
    cancelOr(close, verb, () => close(true), { autofocus: true }),
  ]);

// Asks for a text; resolves with it, or null.
export const ask = (title, label, { value = "", verb = "Save", hint = "" } = {}) =>
  dialog(title, (close) => {
    const field = el("textarea", { rows: 2, value, "aria-label": label, autofocus: true, placeholder: label });
    const fault = el("p.bad", { role: "alert" });
    const send = () => (field.value.trim() ? close(field.value.trim()) : fill(fault, "Say something first."));
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      send();
    });
    return [
      el("div.dialog-body", hint && el("p.dim", hint), field, fault),
      cancelOr(close, verb, send),
    ];
  });

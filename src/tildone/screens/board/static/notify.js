// Notifications of the browser about what needs a person, if they want them: nothing asks for it but a click.
import { harmless } from "./el.js";
import { placeOf } from "./needs.js";

const WANTED = "tildone-notify";
const LOCK = "tildone-looked-at";
const MOST_WORDS = 200;

const is = (permission) => globalThis.Notification?.permission === permission;
export const canNotify = () => "Notification" in globalThis && !is("denied");
export const notifies = () => is("granted") && localStorage.getItem(WANTED) === "on";

// Switches them on or off; resolves with what a person is told.
export async function toggle() {
  const on = !notifies();
  if (on && !is("granted")) await Notification.requestPermission();
  localStorage.setItem(WANTED, on ? "on" : "off");
  if (!on) return "Notifications are off";
  return is("granted")
    ? "You are notified when something needs you"
    : "The browser does not allow notifications of this page";
}

// While a tab is looked at, no other one notifies: the page itself tells.
export function noteLooks() {
  let away = () => {};
  const look = () => {
    away();
    navigator.locks?.request(LOCK, { mode: "shared" }, () =>
      new Promise((resolve) => {
        away = () => resolve(null);
        if (!document.hasFocus()) away();
      }));
  };
  addEventListener("focus", look);
  addEventListener("blur", () => away());
  if (document.hasFocus()) look();
}

const isLookedAt = async () => {
  if (document.hasFocus()) return true;
  return ((await navigator.locks?.query())?.held || []).some((lock) => lock.name === LOCK);
};

// Each need has one notification, however many tabs there are. A click leads to its task.
export async function notify(needs, go) {
  if (!notifies() || !needs.length || (await isLookedAt())) return;
  for (const need of needs) {
    const shown = new Notification(`${harmless(need.name).slice(0, 80)} needs you`, {
      body: harmless(need.text).slice(0, MOST_WORDS),
      tag: idOf(need),
      icon: /** @type {HTMLLinkElement | null} */ (document.querySelector("link[rel=icon]"))?.href,
    });
    shown.addEventListener("click", () => {
      shown.close();
      focus();
      go(placeOf(need));
    });
  }
}

export const idOf = (need) => need.id || `${need.key} ${need.text}`;

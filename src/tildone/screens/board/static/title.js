// The title and the icon of the tab: what the page is, and how much needs a person.
const icon = /** @type {HTMLLinkElement | null} */ (document.querySelector("link[rel=icon]"));
const plain = icon?.href ?? "";
// Above it, the icon says "more".
const MOST = 9;
let words = "";
let count = 0;

const show = () => {
  document.title = `${count ? `(${count}) ` : ""}${words ? `${words} · ` : ""}tildone`;
};

export function setTitle(text = "") {
  words = text;
  show();
}

export function setCount(waiting) {
  if (waiting === count) return;
  count = waiting;
  show();
  if (icon) icon.href = count ? plain.replace(/\.svg$/, `-${Math.min(count, MOST + 1)}.svg`) : plain;
}

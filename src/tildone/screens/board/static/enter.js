// Coming in: by a one-time link, whose token is in the fragment, which no server, log or Referer ever gets; by a token of
// one's own; or because a proxy has signed the person in already.
import { el, fill, icon } from "./el.js";
import { BASE, forget, keep, write } from "./api.js";
import { copyable } from "./overview.js";

const page = (title, ...words) =>
  fill(
    document.getElementById("app") || document.body,
    el("main", { id: "main" }, el("div.empty", el("h1", title), words)),
  );

export function enter() {
  const token = new URLSearchParams(location.hash.slice(1)).get("t") || "";
  history.replaceState(null, "", `${BASE}/in`);
  if (!token && !BY_PROXY) return askToken();
  return present(token);
}

const BY_PROXY = document.documentElement.dataset.signin === "proxy";

async function present(token) {
  page("One moment");
  try {
    const answer = await write("/api/in", { token });
    keep(answer.key);
    location.replace(`${BASE}/`);
  } catch (error) {
    page(
      error.message,
      error.hint && el("p", error.hint),
      el("p", "For a new link:"),
      copyable("tildone board"),
      el("a.btn", { href: `${BASE}/in` }, "Try again"),
    );
  }
}

function askToken() {
  const field = el("input", {
    type: "password",
    "aria-label": "Token",
    placeholder: "Token",
    autocomplete: "off",
    required: true,
  });
  const send = (event) => {
    event.preventDefault();
    present(field.value.trim());
  };
  page(
    "Sign in",
    el("p", "Open the board from a terminal, on the machine it runs on:"),
    copyable("tildone board"),
    el("p", "Or use the token you were given:"),
    el("form.head", { on: { submit: send } }, field, el("button.btn.main", { type: "submit" }, icon("go"), "Sign in")),
  );
}

export function left() {
  forget();
  page("You are signed out", el("a.btn", { href: `${BASE}/in` }, "Sign in"));
}

// Nothing typed is thrown away: the page stays, with a line over it.
export function signedOut() {
  if (BY_PROXY && !sessionStorage.getItem("tildone-asked")) {
    sessionStorage.setItem("tildone-asked", "yes");
    location.href = `${BASE}/in`;
  }
  if (document.querySelector(".signed-out")) return;
  document.querySelector("main")?.prepend(
    el(
      "div.banner.signed-out",
      { role: "alert" },
      el("b", "Sign in again:"),
      el("span", "run ", el("code", "tildone board"), " in a terminal and open its link, or "),
      el("a.btn", { href: `${BASE}/in` }, "Sign in"),
      "What you typed is kept.",
    ),
  );
}

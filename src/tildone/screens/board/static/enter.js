// Coming in: by a one-time link, whose token is in the fragment, which no server, log or Referer ever gets; by a token of
// one's own; or because a proxy has signed the person in already.
import { el, fill, icon } from "./el.js";
import { BASE, forget, keep, wasIn, whenKept, write } from "./api.js";
import { copyable } from "./overview.js";
import { setTitle } from "./title.js";

const BY_PROXY = document.documentElement.dataset.signin === "proxy";
const COMMAND = "tildone board";

const page = (title, ...words) => {
  setTitle(title);
  fill(
    document.getElementById("app") || document.body,
    el("main", { id: "main" }, el("div.empty", el("h1", title), words)),
  );
};

export function enter() {
  const token = new URLSearchParams(location.hash.slice(1)).get("t") || "";
  history.replaceState(null, "", `${BASE}/in`);
  if (token || BY_PROXY) present(token);
  else signIn();
}

// To the page whose address was opened.
const comeIn = () => (location.pathname === `${BASE}/in` ? location.replace(`${BASE}/`) : location.reload());

async function present(token) {
  page("One moment");
  try {
    keep((await write("/api/in", { token })).key);
    comeIn();
  } catch (error) {
    // A hint may end with a command.
    const [hint, command] = error.hint.split(/(?<=:) (?=tildone )/);
    page(
      error.message,
      hint && el("p", hint),
      command && copyable(command),
      !BY_PROXY && command !== COMMAND && [el("p", "For a new link:"), copyable(COMMAND)],
      el("a.btn", { href: `${BASE}/in` }, "Try again"),
    );
  }
}

// What somebody sees who is not signed in. A proxy is asked once.
export function signIn() {
  if (BY_PROXY && !sessionStorage.getItem("tildone-asked")) {
    sessionStorage.setItem("tildone-asked", "yes");
    location.replace(`${BASE}/in`);
    return;
  }
  whenKept(comeIn);
  if (BY_PROXY) {
    page(
      "Sign in",
      el("p", "The proxy in front of this board signs you in."),
      el("a.btn", { href: `${BASE}/in` }, "Try again"),
    );
    return;
  }
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
    el("p", "On the machine that the board runs on, get a link and open it in this browser:"),
    copyable(COMMAND),
    el("p", "Or use the token that you were given:"),
    el("form.head", { on: { submit: send } }, field, el("button.btn.main", { type: "submit" }, icon("go"), "Sign in")),
  );
}

export function left() {
  forget();
  page("You are signed out", el("a.btn", { href: `${BASE}/in` }, "Sign in"));
}

// A page that shows something stays, with a line over it, and drafts are kept: nothing typed is thrown away.
export function signedOut() {
  if (!wasIn()) {
    forget();
    location.reload();
    return;
  }
  if (document.querySelector(".signed-out")) return;
  whenKept(comeIn);
  document.querySelector("main")?.prepend(
    el(
      "div.banner.signed-out",
      { role: "alert" },
      el("b", "You are signed out."),
      el("span", "What you typed is kept. Open the link that ", el("code", COMMAND), " prints, or use a token: "),
      el("a.btn", { href: `${BASE}/in`, target: "_blank" }, "Sign in"),
    ),
  );
}

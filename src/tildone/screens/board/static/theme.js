// Dark, light or the system's; and a palette whose signal colours differ for every kind of sight.

export const THEMES = [["Like the system", "system", ""], ["Light", "light", ""], ["Dark", "dark", ""], [
  "Light, colour-blind safe",
  "light",
  "safe",
], ["Dark, colour-blind safe", "dark", "safe"]];
const system = matchMedia("(prefers-color-scheme: dark)");
const kept = (localStorage.getItem("tildone-theme") || "system ").split(" ");
export const theme = { mode: kept[0], palette: kept[1] || "" };

export function setTheme(mode, palette) {
  Object.assign(theme, { mode, palette });
  localStorage.setItem("tildone-theme", `${mode} ${palette}`);
  apply();
}

function apply() {
  const dark = theme.mode === "dark" || (theme.mode === "system" && system.matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  document.documentElement.dataset.palette = theme.palette;
}

system.addEventListener("change", apply);
addEventListener("storage", (event) => {
  if (event.key !== "tildone-theme" || !event.newValue) return;
  [theme.mode, theme.palette] = event.newValue.split(" ");
  apply();
});
apply();

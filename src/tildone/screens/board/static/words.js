// The words for states and coding agents: those of all surfaces, which the page comes with.
const words = JSON.parse(document.documentElement.dataset.words || "{}");

/** @type {Record<string, string>} */
export const STATUS = words.tasks || {};
/** @type {string[]} */
export const STATES = words.sessions || [];
/** @type {Record<string, string>} */
export const RUNS = words.runs || {};
/** @type {Record<string, string>} */
export const AGENTS = words.agents || {};

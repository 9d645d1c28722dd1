// Simulated coding agents for the shims that `tildone install` writes: `node shim_agents.mjs AGENT FILE`.
// Standard input is a list of steps, standard output the result of each and the calls that the shim made to the agent.

import { writeFileSync } from "node:fs"
import { pathToFileURL } from "node:url"

const [host, file] = process.argv.slice(2)
const steps = JSON.parse(await new Promise((resolve) => {
  let text = ""
  process.stdin.on("data", (piece) => (text += piece)).on("end", () => resolve(text))
}))
const calls = []
const ask = (name, answer) => async (given) => (calls.push([name, given]), answer)
const module = await import(pathToFileURL(file))
const results = []

async function run(work) {
  try {
    results.push((await work()) ?? null)
  } catch (error) {
    results.push({ thrown: error.message })
  }
}

async function opencode() {
  const sessions = { child: { parentID: "main" }, fork: { metadata: { theirs: 1, tildone: "main" } } }
  let last = {}
  let refuses = false
  const session = {
    get: async ({ path }) => ({ data: sessions[path.id] ?? {} }),
    messages: async ({ path }) => ({ data: path.id === "fork" ? [] : [last] }),
    update: ask("update"),
    prompt: async (given) => {
      calls.push(["prompt", given])
      if (refuses) throw new Error("the session is busy")
      const parts = given.body.parts.map((part) => ({ ...part, id: "prt_1" }))
      await hooks["chat.message"]({ sessionID: given.path.id }, { message: { id: "m" }, parts })
    },
  }
  const client = { session, tui: { showToast: ask("toast") } }
  const hooks = await module.Tildone({ client, directory: "/project" })
  for (const { hook, given, last: message, refuses: refusal, writes } of steps) {
    if (writes) writeFileSync(...writes)
    if (message) last = message
    refuses = refusal ?? false
    await run(async () => (await hooks[hook](...given), hook === "event" ? null : given[1]))
  }
}

async function pi() {
  const handlers = {}
  const tools = {}
  const ctx = (entries, more) => ({
    cwd: "/project",
    hasUI: true,
    ui: { setStatus: (...given) => calls.push(["status", given]), notify: (...given) => calls.push(["notify", given]) },
    sessionManager: { getSessionId: () => "S", getEntries: () => entries ?? [] },
    hasPendingMessages: () => false,
    ...more,
  })
  module.default({ on: (event, handler) => (handlers[event] = handler), registerTool: (tool) => (tools[tool.name] = tool) })
  for (const { hook, given, pending, tool, entries, hasUI = true } of steps) {
    let asked = 0
    const waits = pending ? { hasPendingMessages: () => pending !== "later" || asked++ > 0 } : {}
    const context = ctx(entries, { hasUI, ...waits })
    await run(() => (tool ? tools[tool].execute("1", given, undefined, undefined, context) : handlers[hook](given, context)))
  }
}

await { opencode, pi }[host]()
console.log(JSON.stringify({ results, calls }))

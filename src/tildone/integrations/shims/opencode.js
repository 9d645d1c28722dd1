// tildone for opencode: reports opencode's events to `tildone hook opencode` and carries out the replies.
// `tildone install opencode` wrote this file; `tildone uninstall opencode` removes it.
// Errors in here never disturb opencode.

import { spawn } from "node:child_process"

const PROGRAM = "%PROGRAM%"
const ARGUMENTS = "%ARGUMENTS%"
const OPTIONS = ARGUMENTS.slice(1) // the first starts the MCP server
const SECONDS = 10

/** The reply of tildone to an event; an empty object where there is none. */
function answered(event, said) {
  return new Promise((resolve) => {
    try {
      const child = spawn(PROGRAM, ["hook", "opencode", event, ...OPTIONS], {
        stdio: ["pipe", "pipe", "ignore"],
        windowsHide: true,
      })
      let out = ""
      const end = (text) => {
        clearTimeout(timer)
        resolve(parsed(text))
      }
      const timer = setTimeout(() => {
        child.kill("SIGKILL")
        child.stdout.destroy() // its children may still hold the other end open
        child.unref()
        end("")
      }, SECONDS * 1000)
      child.on("error", () => end(""))
      child.on("close", () => end(out))
      child.stdin.on("error", () => {})
      child.stdout.on("error", () => {})
      child.stdout.setEncoding("utf8")
      child.stdout.on("data", (text) => (out += text))
      child.stdin.end(JSON.stringify(said))
    } catch {
      resolve({})
    }
  })
}

function parsed(text) {
  try {
    const found = JSON.parse(text)
    return found !== null && typeof found === "object" ? found : {}
  } catch {
    return {}
  }
}

/** The text in the parts of a message. */
function words(parts) {
  return parts
    .filter((part) => part.type === "text" && !part.synthetic)
    .map((part) => part.text)
    .join("\n")
}

export const Tildone = async ({ client, directory }) => {
  const parents = new Map() // by session: the session that started it as a subagent, if any
  const begun = new Set() // the sessions that were given their plan since opencode was started
  const busy = new Set()
  const nudges = new Map() // the prompts that we sent ourselves, by session

  const tell = (event, sessionID, said = {}) => answered(event, { sessionID, directory, event, ...said })

  /** The session of the person that a subagent's session belongs to; any other session is its own root. */
  async function root(sessionID) {
    if (!parents.has(sessionID)) {
      const found = await client.session.get({ path: { id: sessionID } }).catch(() => undefined)
      parents.set(sessionID, found?.data?.parentID)
    }
    const parent = parents.get(sessionID)
    return parent ? root(parent) : sessionID
  }

  /** Whether a session is a person's: subagents do not work on the plan. */
  const persons = async (sessionID) => (await root(sessionID)) === sessionID

  /** How the last turn ended: its last message, and whether it was aborted or failed. */
  async function ended(sessionID) {
    const found = await client.session.messages({ path: { id: sessionID } })
    const last = (found.data ?? []).findLast((message) => message.info.role === "assistant")
    if (!last) return undefined
    const { error, mode, agent, providerID, modelID } = last.info
    const status = !error ? "completed" : error.name === "MessageAbortedError" ? "aborted" : "error"
    return { text: words(last.parts), status, mode: mode ?? agent, model: { providerID, modelID } }
  }

  async function held(sessionID) {
    busy.delete(sessionID)
    if (!(await persons(sessionID))) return
    const turn = await ended(sessionID)
    if (!turn) return
    const { text, status, mode, model } = turn
    const { prompt, notice } = await tell("session.idle", sessionID, { text, status, permission_mode: mode })
    if (notice) await client.tui.showToast({ body: { message: notice, variant: "warning" } })
    // The person may have sent a prompt meanwhile.
    if (!prompt || busy.has(sessionID)) return
    nudges.set(sessionID, prompt)
    await client.session.prompt({
      path: { id: sessionID },
      body: { agent: mode, model, parts: [{ type: "text", text: prompt }] },
    })
  }

  const events = {
    "session.created": ({ info }) => void parents.set(info.id, info.parentID),
    "session.status": ({ sessionID, status }) => void (status.type === "busy" && busy.add(sessionID)),
    "session.idle": ({ sessionID }) => held(sessionID),
    "session.compacted": ({ sessionID }) => tell("session.compacted", sessionID),
    "session.deleted": ({ info }) => tell("session.deleted", info.id),
  }

  /** Wraps a hook so that its errors are ignored. */
  const quietly =
    (hook) =>
    async (...given) => {
      try {
        return await hook(...given)
      } catch {
        return undefined
      }
    }

  return {
    event: quietly(({ event }) => events[event.type]?.(event.properties)),

    "chat.message": quietly(async ({ sessionID }, { message, parts }) => {
      const text = words(parts)
      const ours = nudges.get(sessionID) === text
      nudges.delete(sessionID)
      if (ours || !(await persons(sessionID))) return
      const first = begun.has(sessionID) ? {} : await tell("session.created", sessionID)
      begun.add(sessionID)
      const { context } = await tell("chat.message", sessionID, { text })
      const told = [first.context, context].filter(Boolean).join("\n")
      // opencode sorts the parts of a message by id.
      const id = `${parts.at(-1)?.id ?? "prt"}_tildone`
      if (told) parts.push({ id, sessionID, messageID: message.id, type: "text", text: told, synthetic: true })
    }),

    "experimental.session.compacting": quietly(async ({ sessionID }, output) => {
      const { context } = await tell("session.created", sessionID)
      if (context) output.context.push(context)
    }),

    "tool.execute.before": async ({ tool, sessionID }, { args }) => {
      // This also tells the MCP server which session calls next.
      const asked = quietly(async () => tell("tool.execute.before", await root(sessionID), { tool, args }))
      const { halt } = (await asked()) ?? {}
      if (halt) throw new Error(halt) // opencode refuses a tool call when the hook throws
    },

    "tool.execute.after": quietly(async ({ tool, sessionID, args }, output) => {
      if (tool !== "todowrite" || !(await persons(sessionID))) return
      await tell("tool.execute.after", sessionID, { tool, args: args ?? output.metadata, output })
    }),
  }
}

// tildone for opencode: hands on what happens to `tildone hook opencode`, and carries out what that answers.
// `tildone install opencode` wrote this file; `tildone uninstall opencode` takes it out again.
// Whatever goes wrong in here, opencode goes on as if it were not there.

import { spawn } from "node:child_process"

const PROGRAM = "%PROGRAM%"
const ARGUMENTS = "%ARGUMENTS%"
const OPTIONS = ARGUMENTS.slice(1) // the first says what the tool server is
const SECONDS = 10

/** What tildone answers to an event: an object, and an empty one where it has nothing to say. */
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
        child.stdout.destroy() // what it has started may still hold the other end
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
  const parents = new Map() // of every session that was heard of: the one it works for, if there is one
  const begun = new Set() // the sessions that were told their plan since opencode was started
  const busy = new Set()
  const nudges = new Map() // what we have said ourselves, by session

  const tell = (event, sessionID, said = {}) => answered(event, { sessionID, directory, event, ...said })

  /** The session that a subagent's works for in the end; any other is its own. */
  async function root(sessionID) {
    if (!parents.has(sessionID)) {
      const found = await client.session.get({ path: { id: sessionID } }).catch(() => undefined)
      parents.set(sessionID, found?.data?.parentID)
    }
    const parent = parents.get(sessionID)
    return parent ? root(parent) : sessionID
  }

  /** Whether a session is a person's: those of subagents have no part in the plan. */
  const persons = async (sessionID) => (await root(sessionID)) === sessionID

  /** What became of the turn that has ended: its last words, and whether it was ended by somebody, or failed. */
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
    // Somebody else may have said something meanwhile.
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

  /** A hook in which nothing goes wrong. */
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
      // Parts are kept in the order of their ids.
      const id = `${parts.at(-1)?.id ?? "prt"}_tildone`
      if (told) parts.push({ id, sessionID, messageID: message.id, type: "text", text: told, synthetic: true })
    }),

    "experimental.session.compacting": quietly(async ({ sessionID }, output) => {
      const { context } = await tell("session.created", sessionID)
      if (context) output.context.push(context)
    }),

    "tool.execute.before": async ({ tool, sessionID }, { args }) => {
      // It is also how the tool server gets to know whose call comes next.
      const asked = quietly(async () => tell("tool.execute.before", await root(sessionID), { tool, args }))
      const { halt } = (await asked()) ?? {}
      if (halt) throw new Error(halt) // how opencode wants a tool to be refused
    },

    "tool.execute.after": quietly(async ({ tool, sessionID, args }, output) => {
      if (tool !== "todowrite" || !(await persons(sessionID))) return
      await tell("tool.execute.after", sessionID, { tool, args: args ?? output.metadata, output })
    }),
  }
}

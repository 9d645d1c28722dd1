// tildone for opencode, and for what is made from it: reports events to `tildone hook` and carries out the replies.
// `tildone install` wrote this file; `tildone uninstall` removes it.
// Errors in this file never reach opencode.

import { spawn } from "node:child_process"

const PROGRAM = "%PROGRAM%"
const AGENT = "%AGENT%"
const ARGUMENTS = "%ARGUMENTS%"
const OPTIONS = ARGUMENTS.slice(1) // without "mcp", which starts the MCP server
const TIMEOUT_SECONDS = 10
const NOTE = "tildone" // the name of our note in the metadata of a session
const ENDS_WHEN_IDLE = process.argv[2] === "run" // `opencode run` ends at the first stop, so nothing can be delivered

/** Runs `tildone hook` for an event; resolves to its reply, which has an `error` if the program failed. */
function callHook(event, payload) {
  return new Promise((resolve) => {
    try {
      const child = spawn(PROGRAM, ["hook", AGENT, event, ...OPTIONS], {
        stdio: ["pipe", "pipe", "ignore"],
        windowsHide: true,
      })
      let out = ""
      const end = (text, error) => {
        clearTimeout(timer)
        resolve(error ? { error } : parseObject(text))
      }
      const timer = setTimeout(() => {
        child.kill("SIGKILL")
        child.stdout.destroy() // its child processes may still have the other end open
        child.unref()
        end("", `it does not answer within ${TIMEOUT_SECONDS} seconds`)
      }, TIMEOUT_SECONDS * 1000)
      child.on("error", (error) => end("", error.message))
      child.on("close", (code) => end(out, code === 0 ? "" : `it ends with exit code ${code}`))
      child.stdin.on("error", () => {})
      child.stdout.on("error", () => {})
      child.stdout.setEncoding("utf8")
      child.stdout.on("data", (text) => (out += text))
      child.stdin.end(JSON.stringify(payload))
    } catch (error) {
      resolve({ error: String(error) })
    }
  })
}

function parseObject(text) {
  try {
    const data = JSON.parse(text)
    return data !== null && typeof data === "object" ? data : {}
  } catch {
    return {}
  }
}

/** The text in the parts of a message. */
function textOf(parts) {
  return parts
    .filter((part) => part.type === "text" && !part.synthetic)
    .map((part) => part.text)
    .join("\n")
}

/** Adds a text, if there is one, to the result of a tool, which is opencode's own or that of an MCP server. */
function addText(result, text) {
  if (!text) return
  if (typeof result.output === "string") result.output += `\n\n${text}`
  else if (Array.isArray(result.content)) result.content.push({ type: "text", text })
}

/** What a session has used so far: the tokens that the model read and wrote, and their cost if it is known. */
function usageOf(requests) {
  const total = { in: 0, out: 0, cost: 0 }
  for (const request of requests?.values() ?? []) for (const key in total) total[key] += request[key]
  return total.out > 0 ? { ...total, cost: total.cost || undefined } : undefined
}

export const Tildone = async ({ client, directory }) => {
  const parents = new Map() // by session: its parent, if it is the session of a subagent
  const kinds = new Map() // by session of a subagent: the name of the agent that it runs
  const informed = new Set() // the sessions that have received their plan since opencode started
  const busy = new Set() // the sessions in which the model is running
  const nudges = new Map() // by session: the prompt that we sent to continue it
  const summaries = new Map() // by session that is being compacted: the plan that is added to its summary
  const added = new Map() // by session: the plan that was added to its last summary
  const recalled = new Set() // the sessions whose model will read the plan in a summary that is just written

  const requests = new Map() // by session that is not a subagent's: by message, what the model used for it

  const told = new Set() // what the person was told; each notice is shown once

  /** Shows the person a notice; the terminal of `opencode run` shows no toasts. */
  async function tell(notice) {
    if (told.has(notice)) return
    told.add(notice)
    if (ENDS_WHEN_IDLE) process.stderr.write(`${notice}\n`)
    else await client.tui.showToast({ body: { message: notice, variant: "warning" } }).catch(() => undefined)
  }

  /** Reports an event, shows the notice in the reply, if any, and resolves to the reply. */
  async function report(event, sessionID, fields = {}) {
    const payload = { sessionID, directory, event, usage: usageOf(requests.get(sessionID)), ...fields }
    const { error, notice, ...reply } = await callHook(event, payload)
    if (error) await tell(`tildone does not work, and the agent goes on without it: ${error}. To check: tildone doctor`)
    if (typeof notice === "string") await tell(notice)
    return reply
  }

  /** Resolves to the session that, directly or not, started a subagent's session; otherwise to the session itself. */
  async function root(sessionID) {
    if (!parents.has(sessionID)) {
      const response = await client.session.get({ path: { id: sessionID } }).catch(() => undefined)
      parents.set(sessionID, response?.data?.parentID)
    }
    const parent = parents.get(sessionID)
    return parent ? root(parent) : sessionID
  }

  /** Whether a session is not a subagent's: a subagent does not work on the plan, but on a list of its own. */
  const isRoot = async (sessionID) => (await root(sessionID)) === sessionID

  /** Reports an event for the session that is at work; of a subagent, with its own id and kind. */
  async function reportOwn(event, sessionID, fields) {
    const main = await root(sessionID)
    const subagent = main === sessionID ? {} : { agentID: sessionID, agentType: kinds.get(sessionID) }
    return report(event, main, { ...fields, ...subagent })
  }

  /**
   * The end of the last turn: its last message, and whether it completed, failed or was aborted. A summary ends no
   * turn: opencode writes it for the person who asked for it, with a system prompt of its own, and then is idle.
   */
  async function lastTurn(sessionID) {
    const response = await client.session.messages({ path: { id: sessionID } })
    const last = (response.data ?? []).findLast((message) => message.info.role === "assistant")
    if (!last || last.info.summary) return undefined
    const { error, mode, agent, providerID, modelID } = last.info
    const status = !error ? "completed" : error.name === "MessageAbortedError" ? "aborted" : "error"
    return { text: textOf(last.parts), status, mode: mode ?? agent, model: { providerID, modelID } }
  }

  /**
   * Tells from which session this one was forked, if it was, and before which message of that one its text ends.
   * opencode copies the metadata of a session to its forks, so a note of the session's own id names their parent.
   */
  async function fork(sessionID) {
    try {
      const { metadata } = (await client.session.get({ path: { id: sessionID } })).data
      const parent = metadata?.[NOTE]
      if (parent === sessionID) return {}
      const body = { metadata: { ...metadata, [NOTE]: sessionID } }
      await client.session.update({ path: { id: sessionID }, body })
      if (!parent) return {}
      const ids = [sessionID, parent]
      const [own, all] = await Promise.all(ids.map((id) => client.session.messages({ path: { id } })))
      return { forkedFrom: parent, forkedBefore: all.data?.[own.data.length]?.info.time.created }
    } catch {
      return {}
    }
  }

  /** Asks the gate whether a session that has become idle continues, and if so sends it the prompt. */
  async function continueIfOpen(sessionID) {
    busy.delete(sessionID)
    if (summaries.delete(sessionID)) await report("session.compacted", sessionID) // there was no summary
    if (!(await isRoot(sessionID))) return void (await reportOwn("session.idle", sessionID))
    if (ENDS_WHEN_IDLE) return
    const turn = await lastTurn(sessionID)
    if (!turn) return
    const { text, status, mode, model } = turn
    const { prompt } = await report("session.idle", sessionID, { text, status, permission_mode: mode })
    if (!prompt) return
    const body = { agent: mode, model, parts: [{ type: "text", text: prompt }] }
    // The person may have sent a prompt in the meantime.
    const sent = !busy.has(sessionID) && (await deliver(sessionID, prompt, body))
    if (!sent) await report("nudge.undelivered", sessionID)
  }

  /** Sends our prompt to a session; resolves to whether it arrived there. */
  async function deliver(sessionID, prompt, body) {
    const nudge = { prompt, arrived: false }
    nudges.set(sessionID, nudge)
    await client.session.prompt({ path: { id: sessionID }, body }).catch(() => undefined)
    return nudge.arrived
  }

  /** Notes what the model used for a message, also for one of a subagent. */
  async function noteUsage({ id, sessionID, role, tokens, cost }) {
    if (role !== "assistant" || !tokens) return
    const main = await root(sessionID)
    if (!requests.has(main)) requests.set(main, new Map())
    const { input, output, reasoning, cache } = tokens
    requests.get(main).set(id, { in: input + cache.read + cache.write, out: output + reasoning, cost })
  }

  const events = {
    "message.updated": ({ info }) => noteUsage(info),
    "session.created": ({ info }) => void parents.set(info.id, info.parentID),
    "session.status": ({ sessionID, status }) => void (status.type === "busy" && busy.add(sessionID)),
    "session.idle": ({ sessionID }) => continueIfOpen(sessionID),
    "session.compacted": ({ sessionID }) => recalled.delete(sessionID) || report("session.compacted", sessionID),
    "session.deleted": ({ info }) => report("session.deleted", info.id),
  }

  /** Wraps a hook so that its errors are ignored. */
  const ignoringErrors =
    (hook) =>
    async (...args) => {
      try {
        return await hook(...args)
      } catch {
        return undefined
      }
    }

  return {
    event: ignoringErrors(({ event }) => events[event.type]?.(event.properties)),

    "chat.message": ignoringErrors(async ({ sessionID, agent }, { message, parts }) => {
      const text = textOf(parts)
      const nudge = nudges.get(sessionID)
      nudges.delete(sessionID)
      if (nudge?.prompt === text) {
        nudge.arrived = true
        return
      }
      if (!(await isRoot(sessionID))) return void kinds.set(sessionID, agent)
      const first = informed.has(sessionID) ? {} : await report("session.created", sessionID, await fork(sessionID))
      informed.add(sessionID)
      const { context } = await report("chat.message", sessionID, { text })
      const added = [first.context, context].filter(Boolean).join("\n")
      // opencode sorts the parts of a message by id.
      const id = `${parts.at(-1)?.id ?? "prt"}_tildone`
      if (added) parts.push({ id, sessionID, messageID: message.id, type: "text", text: added, synthetic: true })
    }),

    "experimental.session.compacting": ignoringErrors(async ({ sessionID }) => {
      if (!(await isRoot(sessionID))) return
      const { context } = await report("session.created", sessionID)
      if (context) summaries.set(sessionID, context)
    }),

    // The next request contains little more than the summary, so the plan is a part of it, once: the model that writes
    // the summary is not told of the plan, but reads the summary before, and may repeat the plan from there.
    "experimental.text.complete": ignoringErrors(async ({ sessionID }, output) => {
      const plan = summaries.get(sessionID)
      if (!plan) return
      summaries.delete(sessionID)
      for (const old of [added.get(sessionID), plan]) output.text = output.text.replace(old, "").trimEnd()
      output.text += `\n\n${plan}`
      added.set(sessionID, plan)
      recalled.add(sessionID)
    }),

    "tool.execute.before": async ({ tool, sessionID }, { args }) => {
      // The hook also notes for the MCP server which session calls next.
      const ask = ignoringErrors(async () => reportOwn("tool.execute.before", sessionID, { tool, args }))
      const { halt } = (await ask()) ?? {}
      if (halt) throw new Error(halt) // opencode refuses a tool call when the hook throws
    },

    "tool.execute.after": ignoringErrors(async ({ tool, sessionID, args }, result) => {
      if (tool === "todowrite") {
        const { context } = await reportOwn("tool.execute.after", sessionID, {
          tool,
          args: args ?? result.metadata,
          output: result,
        })
        addText(result, context)
      } else if (!tool.startsWith("tildone_") && (await isRoot(sessionID))) {
        // The result of a tool of ours says itself what changed, and subagents do not work on the plan.
        addText(result, (await report("tool.execute.after", sessionID, { tool })).context)
      }
    }),
  }
}

// tildone for pi: reports pi's events to `tildone hook pi` and carries out the replies.
// `tildone install pi` wrote this file; `tildone uninstall pi` removes it.
// Errors in this file never reach pi, except for a failed call of one of our tools.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";

const PROGRAM: string = "%PROGRAM%";
const ARGUMENTS: any = "%ARGUMENTS%";
const OPTIONS: string[] = ARGUMENTS.slice(1); // without "mcp", which starts the MCP server: pi does not use it
const PARTS: any = "%PARTS%"; // which parts were installed: our tools, our hooks, or both
const TIMEOUT_SECONDS = 10;
const CUSTOM_TYPE = "tildone";

type Reply = { data: any; text: string; error: string; failed: boolean };

/** Runs `tildone hook pi` for an event; resolves to its output, parsed (or {}) and as text, and any error message. */
function callHook(event: string, payload: object, signal?: AbortSignal): Promise<Reply> {
  return new Promise((resolve) => {
    try {
      const child = spawn(PROGRAM, ["hook", "pi", event, ...OPTIONS], { stdio: "pipe", windowsHide: true });
      let out = "";
      let err = "";
      const end = (error: string, failed: boolean) => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
        resolve({ data: parseObject(out), text: out.trim(), error, failed });
      };
      const abort = (error: string, failed: boolean) => {
        child.kill("SIGKILL");
        child.stdout.destroy(); // its child processes may still have the other ends open
        child.stderr.destroy();
        child.unref();
        out = "";
        end(error, failed);
      };
      const onAbort = () => abort("interrupted", false);
      const late = () => abort(`no answer within ${TIMEOUT_SECONDS} seconds`, true);
      const timer = setTimeout(late, TIMEOUT_SECONDS * 1000);
      signal?.addEventListener("abort", onAbort);
      child.on("error", (error) => end(error.message, true));
      child.on("close", (code) => end(err.trim() || (code ? `it ends with exit code ${code}` : ""), code !== 0));
      child.stdin.on("error", () => {});
      for (const stream of [child.stdout, child.stderr]) stream.on("error", () => {}).setEncoding("utf8");
      child.stdout.on("data", (text) => (out += text));
      child.stderr.on("data", (text) => (err += text));
      child.stdin.end(JSON.stringify(payload));
    } catch (error) {
      resolve({ data: {}, text: "", error: String(error), failed: true });
    }
  });
}

function parseObject(text: string): any {
  try {
    const data = JSON.parse(text);
    return data !== null && typeof data === "object" ? data : {};
  } catch {
    return {};
  }
}

/** The text of the model's last message. */
function lastMessage(messages: any[]): string {
  const last = messages.findLast((message) => message.role === "assistant");
  const parts = Array.isArray(last?.content) ? last.content : [];
  return parts.filter((part: any) => part.type === "text").map((part: any) => part.text).join("\n");
}

/** What the conversation has used so far: the tokens that the model read and wrote, and their cost if it is known. */
function usageOf(entries: any[]): object | undefined {
  const total = { in: 0, out: 0, cost: 0 };
  for (const entry of entries) {
    const usage = entry.message?.usage ?? entry.usage;
    if (!usage) continue;
    total.in += (usage.input ?? 0) + (usage.cacheRead ?? 0) + (usage.cacheWrite ?? 0);
    total.out += usage.output ?? 0;
    total.cost += usage.cost?.total ?? 0;
  }
  return total.out > 0 ? { ...total, cost: total.cost || undefined } : undefined;
}

/** Tells from which conversation this one was forked, if it was, and before which message of that one its text ends. */
function forkOf(manager: any): object {
  const parent = manager.getHeader?.()?.parentSession;
  if (!parent) return {};
  try {
    const lines = readFileSync(parent, "utf8").split("\n").filter(Boolean);
    const [header, ...entries] = lines.map((line) => JSON.parse(line));
    const own = new Set(manager.getEntries().map((entry: any) => entry.id));
    const last = entries.findLastIndex((entry) => own.has(entry.id));
    const next = entries.slice(last + 1).find((entry) => entry.type === "message");
    return last < 0 ? {} : { forkedFrom: header.id, forkedBefore: next && Date.parse(next.timestamp) };
  } catch {
    return {};
  }
}

export default function (pi: any) {
  let fork = {}; // from which conversation this one was forked: told with every event, as the first one counts
  let informed = false; // whether the model of this conversation has received its plan
  let compacted = ""; // the plan, if the conversation was compacted and no request was sent since
  const ours = new Set<string>(); // the names of our tools

  const told = new Set<string>(); // what the person was told; each notice is shown once

  const tell = (ctx: any, notice: string) => {
    if (told.has(notice)) return;
    told.add(notice);
    if (ctx.hasUI) ctx.ui.notify(notice, "warning");
    else process.stderr.write(`${notice}\n`);
  };

  /** Reports an event, and shows the person the notice in the reply, if any. */
  const report = async (event: string, ctx: any, fields: object = {}, signal?: AbortSignal) => {
    const sessionID = ctx.sessionManager.getSessionId();
    const usage = usageOf(ctx.sessionManager.getEntries?.() ?? []);
    const reply = await callHook(event, { sessionID, directory: ctx.cwd, event, usage, ...fork, ...fields }, signal);
    const { notice, halt } = reply.data;
    if (reply.failed)
      tell(ctx, `tildone does not work, and the agent goes on without it: ${reply.error}. To check: tildone doctor`);
    if (typeof notice === "string") tell(ctx, notice);
    // Without an interface nobody sees why a tool was refused. The agent of a worker may have lost its run.
    const why = process.env.TILDONE_LEASE ? halt : "stopped by tildone stop. To go on: tildone resume";
    if (typeof halt === "string" && !ctx.hasUI) tell(ctx, `tildone: ${why}`);
    return reply;
  };

  /** Registers a handler whose errors are ignored. */
  const on = (event: string, handler: (event: any, ctx: any) => Promise<any>, enabled: boolean = PARTS.hooks) =>
    enabled &&
    pi.on(event, async (payload: any, ctx: any) => {
      try {
        return await handler(payload, ctx);
      } catch {
        return undefined;
      }
    });

  const showStatus = (ctx: any, line: string) => ctx.hasUI && ctx.ui.setStatus(CUSTOM_TYPE, line || undefined);

  const register = (tool: any) =>
    pi.registerTool({
      name: tool.name,
      label: tool.label,
      description: tool.description,
      parameters: tool.parameters,
      promptSnippet: tool.snippet || undefined,
      promptGuidelines: tool.guidelines,
      executionMode: "sequential",
      async execute(_id: string, args: any, signal: AbortSignal | undefined, _update: any, ctx: any) {
        const { data, error } = await report("call", ctx, { tool: tool.name, args }, signal);
        if (typeof data.text !== "string") throw new Error(error || "tildone does not answer");
        showStatus(ctx, data.line);
        if (data.failed) throw new Error(data.text); // pi expects a failed tool call to throw
        return { content: [{ type: "text", text: data.text }], details: undefined };
      },
    });

  const start = async (_event: any, ctx: any) => {
    informed = false;
    fork = forkOf(ctx.sessionManager);
    const { data } = PARTS.mcp ? await report("tools", ctx) : { data: {} };
    for (const tool of data.tools ?? []) {
      register(tool);
      ours.add(tool.name);
    }
    if (ctx.hasUI) showStatus(ctx, (await report("status", ctx)).text);
  };

  on("session_start", start, true);

  on("before_agent_start", async (event, ctx) => {
    const first = informed ? undefined : (await report("session_start", ctx)).data.context;
    informed = true;
    compacted = "";
    const { context } = (await report("before_agent_start", ctx, { text: event.prompt })).data;
    const content = [first, context].filter(Boolean).join("\n");
    return content ? { message: { customType: CUSTOM_TYPE, content, display: false } } : undefined;
  });

  on("agent_before_settle", async (event, ctx) => {
    // A turn that was interrupted, failed, or continues anyway needs no nudge.
    if (event.outcome !== "completed" || event.continue || ctx.hasPendingMessages()) return undefined;
    const text = lastMessage(event.context.contextMessages);
    const { prompt } = (await report("agent_before_settle", ctx, { text })).data;
    if (!prompt) return undefined;
    if (ctx.hasPendingMessages()) {
      // The person has written in the meantime.
      await report("nudge_undelivered", ctx);
      return undefined;
    }
    const nudge = { type: "custom_message", customType: CUSTOM_TYPE, content: prompt, display: true };
    return { entries: [...event.entries, nudge], continue: true };
  });

  on("tool_call", async (event, ctx) => {
    const { halt } = (await report("tool_call", ctx, { tool: event.toolName })).data;
    return halt ? { block: true, reason: halt } : undefined;
  });

  on("tool_result", async (event, ctx) => {
    if (ours.has(event.toolName)) return undefined; // the result already says what changed
    const { context } = (await report("tool_result", ctx, { tool: event.toolName })).data;
    return context ? { content: [...event.content, { type: "text", text: context }] } : undefined;
  });

  on("session_compact", async (_event, ctx) => {
    compacted = (await report("session_start", ctx)).data.context ?? "";
    // Afterwards, because the plan is not part of the conversation yet: a later event adds it.
    await report("session_compact", ctx);
  });

  on("context", async (event) => {
    if (!compacted) return undefined;
    const plan = { role: "custom", customType: CUSTOM_TYPE, content: compacted, display: false, timestamp: Date.now() };
    compacted = "";
    return { messages: [...event.messages, plan] };
  });

  on("session_shutdown", (event, ctx) => report("session_shutdown", ctx, { reason: event.reason }));
}
